import type * as z from 'zod';
import type { Role } from '../../bus/messages.ts';
import type { App } from '../../app.ts';

/** One thing that a person may ask of the assistant beside talking to it, through whichever door. */
export interface Operation<Params extends z.ZodObject = z.ZodObject, Result = unknown> {
  /** A full sentence: what it does, and with which error codes it refuses. */
  readonly description: string;
  /** The least role that may ask for it. */
  readonly role: Role;
  /** It changes something, so that each call is written to the audit log. */
  readonly changes: boolean;
  /** Its answer says what runs or ran, of which only configured secrets may be missing. @default false */
  readonly showsRuns?: true;
  readonly params: Params;
  /**
   * The line of the audit log; null for a call that only reads.
   * @default the words of the name and the parameters
   */
  audit?(params: z.output<Params>): string | null;
  /** Never set: it holds the type of the answer. */
  readonly result?: Result;
}

/** Names the type that an operation answers with: `answers<Answer>()({ description, … })`. */
export function answers<Result>() {
  return <Params extends z.ZodObject>(
    operation: Omit<Operation<Params, Result>, 'result'>,
  ): Operation<Params, Result> => operation;
}

/** Who calls an operation. */
export interface Caller {
  /** The channel that they came in by, such as `terminal` or `web`, and who they are there. */
  readonly door: string;
}

/**
 * An operation of an extension: what it takes, what it does and, by its handler, what it answers, in one place. `operation`
 * makes one.
 */
export interface NamedOperation<Params extends z.ZodObject = z.ZodObject, Result = unknown> {
  /** The word by which it is called through every door. */
  readonly name: string;
  /** A full sentence: what it does, and with which error codes it refuses. */
  readonly description: string;
  /** A word for what is different after a call: panels that listen to it load again. Each such call is in the audit log. Null: it changes nothing. */
  readonly changes: string | null;
  readonly showsRuns?: true;
  readonly params: Params;
  /** As `Operation.audit`. */
  audit?(params: z.output<Params>): string | null;
  /** Its parameters were checked. Throws an `AppError` where it refuses. */
  handle(params: z.output<Params>, call: { readonly app: App } & Caller): Promise<Result>;
}

/** Gives an operation its types: those of its parameters from the schema, that of its answer from the handler. */
export function operation<Params extends z.ZodObject, Result>(
  one: NamedOperation<Params, Result>,
): NamedOperation<Params, Result> {
  return one;
}

/** What an operation answers: `AnswerOf<typeof cron>`. */
export type AnswerOf<Op> = Op extends { handle(...given: never[]): Promise<infer Result> } ? Result : never;
/** What an operation takes. */
export type ParamsOf<Op> = Op extends { readonly params: infer Params extends z.ZodObject } ? z.output<Params> : never;
