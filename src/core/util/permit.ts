import { AppError } from './errors.ts';

/**
 * Whether this process may act for its home now. A home that PostgreSQL keeps may be another gateway's at any moment; any other
 * belongs to its process.
 */
export interface Permit {
  readonly isGranted: boolean;
  /** Throws `NotPermitted`. Call it right before something leaves the process, with no `await` in between. */
  readonly check: () => void;
  /** Resolves when it is granted. Rejects with the signal's reason, or with `home-lost` when it never will be again. */
  readonly granted: (signal: AbortSignal) => Promise<void>;
  /** Tells when it is no longer granted, each time, until it is disposed of. */
  readonly onWithdrawn: (listener: () => void) => Disposable;
  /** Aborts when it never will be granted again. */
  readonly ended: AbortSignal;
}

export const ALWAYS_PERMITTED: Permit = {
  isGranted: true,
  check: () => {},
  granted: async () => {},
  onWithdrawn: () => ({ [Symbol.dispose]: () => {} }),
  ended: new AbortController().signal,
};

/** Nothing left the process. Its code is `home-uncertain`. */
export class NotPermitted extends AppError {
  constructor() {
    super(
      'home-uncertain',
      'It is not certain that this gateway still runs the home, so nothing was begun. This may be tried again.',
    );
  }
}
