/** An error a person may read: a stable code, facts as fields, and a sentence that says what to do. */
export class AppError extends Error {
  /** Stable and machine readable, e.g. `config-invalid`. */
  readonly code: string;
  /** Details for logs and tests; never a secret. */
  readonly facts: Readonly<Record<string, unknown>>;
  /** Exit code of the process when this error ends a command. @default 1 */
  readonly exitCode: number;

  constructor(
    code: string,
    message: string,
    options: { facts?: Record<string, unknown>; cause?: unknown; exitCode?: number } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.facts = options.facts ?? {};
    this.exitCode = options.exitCode ?? 1;
  }
}

/** An error whose message is a text from outside, such as a server's (`said`), followed by a sentence of ours (`own`). */
export class OwnWordsError extends AppError {
  readonly said: string;
  readonly own: string;
  /** What failed may have been done nevertheless. */
  readonly doubtful: boolean;

  constructor(
    code: string,
    { said, own, doubtful = false }: Pick<OwnWordsError, 'said' | 'own'> & { readonly doubtful?: boolean },
    cause?: unknown,
  ) {
    super(code, [said, own].filter((part) => part !== '').join(' '), cause === undefined ? {} : { cause });
    this.said = said;
    this.own = own;
    this.doubtful = doubtful;
  }
}

/** The message of what was thrown: of an error its message or name, a string as it is, else `unknown error`. */
export function errorMessage(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message === '' ? thrown.name : thrown.message;
  return typeof thrown === 'string' ? thrown : 'unknown error';
}

/** The `code` of a system or library error (`ENOENT`, `SQLITE_BUSY`, …), also when it sits on a cause. */
export function errorCode(thrown: unknown): string | undefined {
  for (let at = thrown, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    if ('code' in at && typeof at.code === 'string') return at.code;
  }
  return undefined;
}

/** Whether an error means that the work was aborted, by our own signal or by an SDK. */
export function isAbort(thrown: unknown): boolean {
  return thrown instanceof Error && (thrown.name === 'AbortError' || thrown.name === 'APIUserAbortError');
}
