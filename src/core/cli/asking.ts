import type { RequestName, RequestParams, RequestResult } from '../gateway/operations/operations.ts';
import { command, type CliCommand, type CommandRecord, type Values } from './command.ts';
import { flag, type Argument, type Option } from './values.ts';

type Arguments = Readonly<Record<string, Argument<unknown>>>;
type Options = Readonly<Record<string, Option<unknown>>>;

/** What an answer is shown with. */
export interface Showing<Given> {
  readonly given: Given;
  /** The home's time zone; null: this machine's. */
  readonly zone: string | null;
  /** A time of the answer (ms since 1970) in that zone: `localMinute`, `localSecond`. */
  readonly minute: (at: number) => string;
  readonly second: (at: number) => string;
}

/** An answer as a person and a program read it. */
export interface Shown {
  readonly lines: readonly string[];
  /** For `--json`. @default the answer */
  readonly facts?: unknown;
  /** What makes the lines safe for a terminal. @default `escapeInvisible` */
  readonly escape?: (text: string) => string;
  /** @default 0 */
  readonly code?: number;
}

/** A command that calls one operation and shows what it answers. Every such command takes `--json`. */
export interface AskingRecord<Name extends RequestName, A, O> extends Omit<CommandRecord<A, O>, 'load'> {
  readonly operation: Name;
  /** @default the arguments and options of the same names that were given */
  readonly input?: (given: Values<A> & Values<O>, now: number) => RequestParams<Name>;
  /** Imports what shows the answer, when it has come. */
  readonly show: () => Promise<
    (answer: RequestResult<Name>, showing: Showing<Values<A> & Values<O>>) => Shown | readonly string[]
  >;
  /** What the help says of `--json`. @default 'as JSON' */
  readonly json?: string;
  /** What it says where there are no lines. */
  readonly nothing?: string;
  /** What an assistant logs that is started for this alone. @default 'warn' */
  readonly log?: 'silent';
}

/** One row of the table that is an operation: it is called, and its answer is shown. */
export function asking<
  const Name extends RequestName,
  A extends Arguments = Record<never, never>,
  O extends Options = Record<never, never>,
>({
  operation,
  input,
  show,
  nothing = '',
  json: asJson = 'as JSON',
  log,
  ...row
}: AskingRecord<Name, A, O>): CliCommand {
  return command({
    ...row,
    options: { ...row.options, json: flag(asJson) },
    load: async () => async (flags, context) => {
      const { openAssistant, timesOf } = await import('./open.ts');
      const { print } = await import('./print.ts');
      const { home, json, ...rest } = flags;
      // The names and types of what was given are those of the row.
      const given = rest as unknown as Values<A> & Values<O>;
      const params = input?.(given, context.clock.now()) ?? defined(rest);
      await using assistant = await openAssistant(context, home, log === undefined ? {} : { log });
      const answer = await assistant.port.call(operation, params as RequestParams<Name>);
      const shown = (await show())(answer, { given, ...(await timesOf(context, home)) });
      const { code = 0, ...found } = 'lines' in shown ? shown : { lines: shown };
      print(context, json, { facts: answer, nothing, ...found });
      return code;
    },
  });
}

function defined(given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}
