import { killTest } from "./kills.ts";

killTest("daemon", 30, 1_200_000);
