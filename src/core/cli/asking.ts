import type { RequestName, RequestParams, RequestResult } from '../gateway/operations/operations.ts';
import { command, type CliCommand, type CommandRecord, type Values } from './command.ts';
import { flag, type Argument, type Option } from './values.ts';

type Arguments = Readonly<Record<string, Argument<unknown>>>;
type Options = Readonly<Record<string, Option<unknown>>>;

/** What `show` gets beside the answer. */
export interface Showing<Given> {
  readonly given: Given;
  /** The home's time zone; null: this machine's. */
  readonly zone: string | null;
  /** Formats a time (ms since 1970) in that zone, as `localMinute` and `localSecond` do. */
  readonly minute: (at: number) => string;
  readonly second: (at: number) => string;
}

/** An answer for the terminal and, as JSON, for programs. */
export interface Shown {
  readonly lines: readonly string[];
  /** Printed with `--json`. @default the answer */
  readonly facts?: unknown;
  /** Makes the lines safe for a terminal. @default `escapeInvisible` */
  readonly escape?: (text: string) => string;
  /** The exit code. @default 0 */
  readonly code?: number;
}

/** A command that calls one operation and prints the answer. Every such command takes `--json`. */
export interface AskingRecord<Name extends RequestName, A, O> extends Omit<CommandRecord<A, O>, 'load'> {
  readonly operation: Name;
  /** The input of the operation. @default the given arguments and options, under their own names */
  readonly input?: (given: Values<A> & Values<O>, now: number) => RequestParams<Name>;
  /** Imports the function that formats the answer; called once the answer is here. */
  readonly show: () => Promise<
    (answer: RequestResult<Name>, showing: Showing<Values<A> & Values<O>>) => Shown | readonly string[]
  >;
  /** What the help says of `--json`. @default 'as JSON' */
  readonly json?: string;
  /** Printed when there are no lines. */
  readonly nothing?: string;
  /** Log level of an assistant that is started only for this command. @default 'warn' */
  readonly log?: 'silent';
}

/** The row of the command table for a command that calls one operation. */
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
      // The row declares these names and types.
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
