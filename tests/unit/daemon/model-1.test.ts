import { modelTest } from "./model-run.ts";

modelTest("first thousand", 1000);
