import { killTest } from "../integration/daemon/kills.ts";

killTest("both", 200, 7_200_000);
killTest("both", 30, 3_600_000, "real");
