import { calibrationKills } from "./idle-kills.ts";
import { TEST_MS } from "./setting.ts";

calibrationKills(10, TEST_MS);
