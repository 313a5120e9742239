import { killTest } from "../integration/daemon/kills.ts";

killTest("step", 200, 7_200_000);
killTest("step", 30, 3_600_000, "real");
