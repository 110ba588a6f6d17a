import type * as z from 'zod';
import type { Role } from '../../bus/messages.ts';

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
