import { killTest } from "./kills.ts";

killTest("both", 30, 1_200_000);
