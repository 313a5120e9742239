import { calibrationKills } from "../integration/daemon/idle-kills.ts";

calibrationKills(200, 7_200_000);
