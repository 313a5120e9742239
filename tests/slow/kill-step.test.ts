import { killTest } from "../integration/daemon/kills.ts";

killTest("step", 200, 7_200_000);
