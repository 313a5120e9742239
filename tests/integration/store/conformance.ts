import { runTopic, type Open } from "./conformance-kit.ts";
import { TAKING_UP } from "./conformance-intake.ts";
import { CLAIMING } from "./conformance-claim.ts";
import { RUNNING } from "./conformance-run.ts";
import { BY_HAND, ONE_AFTER_THE_OTHER } from "./conformance-hand.ts";
import { OWNERS } from "./conformance-owners.ts";

/** What every store does, whatever it is made of. `open` gives an empty one. */
export function storeConformance(name: string, open: Open): void {
  runTopic(`${name}: taking up`, open, TAKING_UP);
  runTopic(`${name}: claiming`, open, CLAIMING);
  runTopic(`${name}: running`, open, RUNNING);
  runTopic(`${name}: by hand`, open, BY_HAND);
  runTopic(`${name}: one after the other`, open, ONE_AFTER_THE_OTHER);
  runTopic(`${name}: owners`, open, OWNERS);
}
