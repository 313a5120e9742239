import { killTest } from "../integration/daemon/kills.ts";

killTest("both", 200, 7_200_000);
