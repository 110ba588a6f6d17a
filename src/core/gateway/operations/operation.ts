import * as z from 'zod';
import type { App } from '../../app.ts';
import type { Role } from '../../bus/messages.ts';

/** Who calls an operation. */
export interface Caller {
  /** The channel that they came in by, such as `terminal` or `web`, and who they are there. */
  readonly door: string;
  readonly role: Role;
}

/**
 * One thing that a person may ask of the assistant beside talking to it: what it takes, what it does and what it answers.
 * HTTP, the control socket, the page, the library and the command line call it by its name. `operation` makes one.
 */
export interface Operation<
  Name extends string = string,
  Input extends z.ZodObject = z.ZodObject,
  Output extends z.ZodType = z.ZodType,
> {
  readonly name: Name;
  /** A full sentence: what it does, and with which error codes it refuses. */
  readonly about: string;
  /** A word for what is different after a call: panels that listen to it load again. Each such call is in the audit log. Null: it changes nothing. */
  readonly changes: string | null;
  /** The least role that may call it. @default 'owner' */
  readonly role?: Role;
  /** Its answer says what runs or ran, of which only configured secrets may be missing. @default false */
  readonly showsRuns?: true;
  readonly input: Input;
  /** What it answers. Tests check each answer against it. */
  readonly output: Output;
  /**
   * The line of the audit log; null for a call that only reads.
   * @default the words of the name and the parameters
   */
  audit?(input: z.output<Input>): string | null;
  /** Its input was checked. Throws an `AppError` where it refuses. */
  run(app: App, input: z.output<Input>, by: Caller): Promise<z.input<Output>>;
}

/** Gives an operation its types. */
export function operation<const Name extends string, Input extends z.ZodObject, Output extends z.ZodType>(
  one: Operation<Name, Input, Output>,
): Operation<Name, Input, Output> {
  return one;
}

/** What an operation answers: `AnswerOf<typeof cron>`. */
export type AnswerOf<Op extends { readonly output: z.ZodType }> = z.output<Op['output']>;
/** What an operation takes. */
export type ParamsOf<Op extends { readonly input: z.ZodObject }> = z.output<Op['input']>;

/** A list in an answer. */
export function listOf<Item extends z.ZodType>(item: Item): z.ZodReadonly<z.ZodArray<Item>> {
  return z.array(item).readonly();
}
