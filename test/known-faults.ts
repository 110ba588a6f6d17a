import { test } from 'vitest';

/** A fault with a failing test whose fix is planned. */
export interface KnownFault {
  /** The number in the title of the issue that will fix it. */
  readonly fixedBy: string;
  /** Why it isn't fixed now, in one sentence. */
  readonly why: string;
}

/** Known faults by id. Keys start with the finding's id, e.g. `S1 read by a command`. */
export const KNOWN_FAULTS: Readonly<Record<string, KnownFault>> = {};

/**
 * Registers a test that must still fail because of a known fault.
 *
 * The body is written as if the fault were fixed. Only a failed expectation counts as the fault: any other error fails
 * the run, and so does a body that passes, because the fault is gone then and its row must be removed.
 *
 * @public Nothing calls it while no fault is known.
 */
export function knownFault(id: keyof typeof KNOWN_FAULTS, body: () => Promise<void>): void {
  const fault = KNOWN_FAULTS[id];
  if (fault === undefined) throw new Error(`test/known-faults.ts has no fault “${id}”`);
  test(`${id} (known until issue ${fault.fixedBy})`, async () => {
    try {
      await body();
    } catch (error) {
      if (error instanceof Error && error.name === 'AssertionError') return;
      throw error;
    }
    throw new Error(`“${id}” works now: remove it from test/known-faults.ts and make this an ordinary test`);
  });
}
