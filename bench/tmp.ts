import { measureStart } from "./start.ts";
import { measureTakeUp } from "./take-up.ts";
import { measureRecovery } from "./recovery.ts";
for (const take of [measureStart, measureTakeUp, measureRecovery]) {
  try { console.log(JSON.stringify(await take())); } catch (error) { console.log(error); }
}
