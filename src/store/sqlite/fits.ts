/** What a machine with `:memory_mb` for a model can hold; a null is not known, and is tried. */
export const FITS = "(memory_mb IS NULL OR :memory_mb IS NULL OR memory_mb <= :memory_mb)";
