/** The part of this room that loads no schema library: `status` is asked many times a minute. */
export { judgeName } from "./names.ts";
