import { killTest } from "./kills.ts";

killTest("step", 30, 1_200_000);
