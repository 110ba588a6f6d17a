/** Something in the code that keeps harm from happening. */
export interface Guard {
  /** Kebab-case, unique. */
  readonly name: string;
  /** Below `src`. */
  readonly file: string;
  /** One sentence: what cannot happen while it stands. */
  readonly holds: string;
  /** Exact text that occurs once in the file. */
  readonly find: string;
  /** What disables it. */
  readonly replace: string;
  /** Below `test`: each of these fails while it is disabled. */
  readonly tests: readonly [string, ...string[]];
}

/** Guards of one file; `tests` are for those that name none. */
export function guardsIn(
  file: string,
  tests: Guard['tests'],
  guards: readonly (Omit<Guard, 'file' | 'tests'> & Partial<Pick<Guard, 'tests'>>)[],
): readonly Guard[] {
  return guards.map((guard) => ({ file, tests, ...guard }));
}
