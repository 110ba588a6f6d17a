import { AppError } from '../core/util/errors.ts';

/** The variables that programs of the system are started with. */
export type Variables = Readonly<Record<string, string>>;

/** How a program of the system ended. */
export interface ProgramResult {
  readonly code: number;
  readonly out: string;
  /** The first line of what it wrote to stderr; empty: none. */
  readonly said: string;
}

export interface Asked {
  readonly env: Variables;
  /** Seconds until it is ended. @default 20 */
  readonly seconds?: number;
  /** The next step of the person when it fails, a sentence. @default to run it by hand */
  readonly next?: string;
}

/**
 * Runs a program of the system to its end. A code other than 0 is in the answer. Throws `program-missing` when there is
 * none of that name and `program-timeout` after the deadline, each with one sentence.
 */
export async function runProgram(
  name: string,
  args: readonly string[],
  { env, seconds = 20, next = 'Run it by hand to see why, then try again.' }: Asked,
): Promise<ProgramResult> {
  const { execa } = await import('execa');
  const ended = await execa(name, [...args], {
    env,
    extendEnv: false,
    stdin: 'ignore',
    timeout: seconds * 1_000,
    forceKillAfterDelay: 2_000,
    maxBuffer: 1_000_000,
    reject: false,
  });
  if (ended.timedOut) {
    throw new AppError(
      'program-timeout',
      `\`${[name, ...args].join(' ')}\` did not end within ${seconds} seconds. ${next}`,
    );
  }
  if (ended.exitCode === undefined) {
    const why = ended.code === 'ENOENT' ? 'it is not installed' : (ended.originalMessage ?? 'no reason was given');
    throw new AppError('program-missing', `The program ${name} could not be started: ${why}.`);
  }
  const [said = ''] = ended.stderr.trim().split('\n');
  return { code: ended.exitCode, out: ended.stdout, said };
}

/** The same where only 0 is a success. Throws `program-failed` with what it said and the next step. */
export async function requireProgram(
  name: string,
  args: readonly string[],
  { next, ...asked }: Asked & { readonly next: string },
): Promise<ProgramResult> {
  const ended = await runProgram(name, args, { ...asked, next });
  if (ended.code === 0) return ended;
  const why = ended.said === '' ? `it ended with code ${ended.code}` : ended.said.replace(/[.\s]*$/u, '');
  throw new AppError('program-failed', `\`${[name, ...args].join(' ')}\` failed: ${why}. ${next}`);
}
