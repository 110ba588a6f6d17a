import { AppError } from '../util/errors.ts';
import type { CliContext } from './context.ts';

type Flags = Readonly<Record<string, unknown>>;

export function textFlag(flags: Flags, name: string): string | undefined {
  const value = flags[name];
  return typeof value === 'string' ? value : undefined;
}

export function listFlag(flags: Flags, name: string): readonly string[] {
  const value = flags[name];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** A number above zero. */
export function numberFlag(flags: Flags, name: string): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value > 0) return value;
  throw usageError(`--${name} must be a number above 0, but ${JSON.stringify(text)} was given.`);
}

/** Entries that `--last` shows when it is not given. */
export const DEFAULT_COUNT = 30;

export function wholeNumberFlag(
  flags: Flags,
  name: string,
  { min, max }: { readonly min: number; readonly max: number },
): number | undefined {
  const text = textFlag(flags, name);
  if (text === undefined) return undefined;
  if (/^\d{1,9}$/u.test(text) && Number(text) >= min && Number(text) <= max) return Number(text);
  const given = JSON.stringify(text.slice(0, 40));
  throw usageError(`--${name} must be a whole number from ${min} to ${max}, but ${given} was given.`);
}

export function usageError(message: string): AppError {
  return new AppError('usage', message, { exitCode: 2 });
}

/** The home that a command line names; for what is looked up after a failure. */
export function homeFlag(argv: readonly string[]): string | undefined {
  return argv[argv.indexOf('--home') + 1 || argv.length];
}

/** Whether the home of this command line has log level `debug`; looked up only after a failure. */
export async function isDebugging(context: CliContext, argv: readonly string[]): Promise<boolean> {
  try {
    const [{ loadConfig }, { resolveHome }] = await Promise.all([
      import('../config/load.ts'),
      import('../config/environment.ts'),
    ]);
    const home = resolveHome({ flag: homeFlag(argv), env: context.env });
    return (await loadConfig({ home, env: context.env })).config.log.level === 'debug';
  } catch {
    return false;
  }
}
