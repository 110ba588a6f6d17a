import { usageError } from './usage.ts';

/** A word that a command takes by its place. */
export interface Argument<T> {
  readonly description: string;
  readonly isRequired: boolean;
  /** Where it is left out; shown in the help. */
  readonly fallback?: string;
  readonly read: (given: unknown) => T;
}

/** An option of a command: how the help shows it, and how what was given becomes a value. */
export interface Option<T> {
  readonly description: string;
  /** What stands for its value in the help, as in `<count>`; absent: a flag, which takes none. */
  readonly value?: string;
  /** One letter that means the same. */
  readonly short?: string;
  readonly choices?: readonly string[];
  /** Where it is not given; shown in the help. */
  readonly fallback?: string;
  readonly repeats?: true;
  /** The value of what was given (undefined: nothing). Throws a usage error with `name`, as in `--last`. */
  readonly read: (given: unknown, name: string) => T;
}

export function argument(description: string): Argument<string> {
  return { description, isRequired: true, read: String };
}

export function optionalArgument<const D extends string | undefined = undefined>(
  description: string,
  fallback?: D,
): Argument<string | D> {
  const read = (given: unknown): string | D => (typeof given === 'string' ? given : (fallback as D));
  return { description, isRequired: false, ...(fallback === undefined ? {} : { fallback }), read };
}

/** True where it is given. */
export function flag(description: string, { short }: { readonly short?: string } = {}): Option<boolean> {
  return { description, ...(short === undefined ? {} : { short }), read: (given) => given === true };
}

export function text<const D extends string | undefined = undefined>(
  value: string,
  description: string,
  { short, fallback }: { readonly short?: string; readonly fallback?: D } = {},
): Option<string | D> {
  return {
    description,
    value,
    ...(short === undefined ? {} : { short }),
    ...(fallback === undefined ? {} : { fallback }),
    read: (given) => (typeof given === 'string' ? given : (fallback as D)),
  };
}

/** Each value that was given, in order. */
export function texts(value: string, description: string): Option<readonly string[]> {
  return { description, value, repeats: true, read: (given) => (Array.isArray(given) ? given.map(String) : []) };
}

export function choice<const C extends string, const D extends C | undefined = undefined>(
  value: string,
  description: string,
  { choices, fallback }: { readonly choices: readonly C[]; readonly fallback?: D },
): Option<C | D> {
  return {
    description,
    value,
    choices,
    ...(fallback === undefined ? {} : { fallback }),
    read: (given) => choices.find((one) => one === given) ?? (fallback as D),
  };
}

/** A number above zero. */
export function number(value: string, description: string): Option<number | undefined> {
  return {
    description,
    value,
    read: (given, name) => {
      if (typeof given !== 'string') return undefined;
      const found = Number(given);
      if (given.trim() !== '' && Number.isFinite(found) && found > 0) return found;
      throw usageError(`${name} must be a number above 0, but ${JSON.stringify(given)} was given.`);
    },
  };
}

export function wholeNumber<const D extends number | undefined = undefined>(
  value: string,
  description: string,
  { min, max, fallback }: { readonly min: number; readonly max: number; readonly fallback?: D },
): Option<number | D> {
  return {
    description,
    value,
    read: (given, name) => {
      if (typeof given !== 'string') return fallback as D;
      if (/^\d{1,9}$/u.test(given) && Number(given) >= min && Number(given) <= max) return Number(given);
      const shown = JSON.stringify(given.slice(0, 40));
      throw usageError(`${name} must be a whole number from ${min} to ${max}, but ${shown} was given.`);
    },
  };
}
