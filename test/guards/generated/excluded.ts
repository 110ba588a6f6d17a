/** Mutants that no test can kill, by name, each with the reason. */
export const EXCLUDED: Readonly<Record<string, string>> = {};
