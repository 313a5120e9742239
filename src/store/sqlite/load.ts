/** Node 22 warns that its SQLite is experimental; what we use of it is covered by our own tests. */
export async function loadSqlite() {
  const emit = process.emitWarning.bind(process);
  process.emitWarning = () => {};
  try {
    return await import("node:sqlite");
  } finally {
    process.emitWarning = emit;
  }
}
