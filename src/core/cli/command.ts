import type { CliContext } from './context.ts';
import { homeOf } from './home-of.ts';
import type { Argument, Option } from './values.ts';

/** What every command is given: the home of the command line, where it names one. */
export interface HomeFlag {
  readonly home: string | undefined;
}

/** What a command is given that shows something: whether as JSON. */
export interface OutputFlags extends HomeFlag {
  readonly json: boolean;
}

/** What a command does: it is given its arguments and options by name, and resolves with the exit code. */
type Runner<Given> = (given: Given, context: CliContext) => Promise<number>;

/** The parsed arguments or options of a row, by name. */
export type Values<T> = { readonly [K in keyof T]: T[K] extends Argument<infer V> | Option<infer V> ? V : never };

/** One row of the command table. */
export interface CommandRecord<A, O> {
  readonly name: string;
  readonly description: string;
  /** It is meant where its group is called without a command. */
  readonly isDefault?: true;
  /** The command before which the help shows it. @default it stands behind those of the core */
  readonly before?: string;
  /** What it works on: a home, or the folder of a machine with many too. @default 'home' */
  readonly worksOn?: 'home' | 'any folder';
  /** By name, in the order of their places. */
  readonly arguments?: A;
  /** By name: `dryRun` is `--dry-run`. */
  readonly options?: O;
  /** Lines that its help shows, each a whole command line without the name of the program. @default its name alone */
  readonly examples?: readonly string[];
  /** Behind the help. */
  readonly after?: string;
  /** What its exit codes mean, where they mean something of their own. */
  readonly exits?: Readonly<Record<number, string>>;
  /** Imports the module of the command, when it is called. */
  readonly load: () => Promise<Runner<Values<A> & Values<O> & HomeFlag>>;
}

/** A command of the table. */
export interface CliCommand {
  readonly name: string;
  readonly description: string;
  readonly isDefault: boolean;
  readonly before?: string;
  readonly arguments: Readonly<Record<string, Argument<unknown>>>;
  readonly options: Readonly<Record<string, Option<unknown>>>;
  readonly examples: readonly string[];
  readonly after: string;
  readonly exits: Readonly<Record<number, string>>;
  /**
   * Loads and runs it. `words` are its arguments in order, `flags` its options and `home` as they were given. Throws a
   * usage error for a value that an option does not take.
   */
  readonly run: (
    given: { readonly words: readonly unknown[]; readonly flags: Readonly<Record<string, unknown>> },
    context: CliContext,
  ) => Promise<number>;
}

/** Commands below one word, such as `cron list` and `cron add`. */
export interface Group {
  readonly name: string;
  readonly description: string;
  readonly commands: readonly CliCommand[];
}

/** One row of the table; what its options and arguments are read as is what the command must take. */
export function command<
  A extends Readonly<Record<string, Argument<unknown>>> = Record<never, never>,
  O extends Readonly<Record<string, Option<unknown>>> = Record<never, never>,
>(record: CommandRecord<A, O>): CliCommand {
  const { name, description, before, isDefault = false, worksOn = 'home', load } = record;
  const { examples = [], after = '', exits = {} } = record;
  const args: Readonly<Record<string, Argument<unknown>>> = record.arguments ?? {};
  const options: Readonly<Record<string, Option<unknown>>> = record.options ?? {};
  return {
    name,
    description,
    isDefault,
    ...(before === undefined ? {} : { before }),
    arguments: args,
    options,
    examples,
    after,
    exits,
    run: async ({ words, flags }, context) => {
      const given = Object.fromEntries<unknown>([
        ['home', await homeOf(flags, worksOn, context)],
        ...Object.entries(args).map(([key, { read }], at) => [key, read(words[at])] as const),
        ...Object.entries(options).map(([key, { read }]) => [key, read(givenFlag(flags, key), flagName(key))] as const),
      ]);
      return (await load())(given as Values<A> & Values<O> & HomeFlag, context);
    },
  };
}

/** commander keeps `--no-check` as `check`, which is false where it was given. */
function givenFlag(flags: Readonly<Record<string, unknown>>, key: string): unknown {
  const positive = /^no([A-Z])(.*)$/u.exec(key);
  if (positive === null) return flags[key];
  return flags[`${positive[1]?.toLowerCase() ?? ''}${positive[2] ?? ''}`] === false;
}

/** What the exit codes of every command mean. */
const EXITS = {
  0: 'it worked',
  1: 'it did not work',
  2: 'the command line is wrong',
  78: 'the configuration is wrong',
};

/** `Exit codes: 0 it worked; 1 …` for a command whose codes mean something of their own, or for all. */
export function exitCodes(own: Readonly<Record<number, string>> = {}): string {
  const codes = Object.entries({ ...EXITS, ...own }).map(([code, meaning]) => `${code} ${meaning}`);
  return `Exit codes: ${codes.join('; ')}.`;
}

/** `dryRun` is `--dry-run`. */
export function flagName(key: string): string {
  return `--${key.replaceAll(/[A-Z]/gu, (letter) => `-${letter.toLowerCase()}`)}`;
}
