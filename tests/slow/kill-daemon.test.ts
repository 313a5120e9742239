import { killTest } from "../integration/daemon/kills.ts";

killTest("daemon", 200, 7_200_000);
