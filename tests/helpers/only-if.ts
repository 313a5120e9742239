/**
 * For `test.each(onlyIf(condition))`: one case or none. A test that cannot apply here (another
 * platform, a server without that ability) is then not there, and not one that was skipped.
 */
export function onlyIf(condition: boolean): [][] {
  return condition ? [[]] : [];
}
