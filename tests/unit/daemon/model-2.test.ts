import { modelTest } from "./model-run.ts";

modelTest("second thousand", 1000);
