import { killTest } from "../integration/daemon/kills.ts";

killTest("daemon", 200, 7_200_000);
killTest("daemon", 30, 3_600_000, "real");
