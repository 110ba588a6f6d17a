import type * as z from 'zod';
import { activity } from './activity.ts';
import { approvals } from './approvals.ts';
import { editors } from './editors.ts';
import { extensions } from './extensions.ts';
import { files } from './files.ts';
import { health } from './health.ts';
import { mail } from './mail.ts';
import { memory } from './memory.ts';
import type { ExtensionOperations } from '../../api.ts';
import type { AnswerOf, Caller, Operation, ParamsOf } from './operation.ts';
import { people } from './people.ts';
import { sessions } from './sessions.ts';
import { skills } from './skills.ts';
import { traces } from './traces.ts';
import { system } from './system.ts';
import { undo } from './undo.ts';
import { usage } from './usage.ts';

/** Everything that may be asked of the assistant beside talking to it; the control socket, HTTP and the command line all call these. */
export const OPERATIONS = {
  ...sessions,
  ...memory,
  ...files,
  ...skills,
  ...people,
  ...approvals,
  ...mail,
  ...health,
  ...usage,
  ...activity,
  ...traces,
  ...undo,
  ...editors,
  ...extensions,
  ...system,
} satisfies Readonly<Record<string, Operation>>;

/** Those of the core by name. */
export type CoreOperations = typeof OPERATIONS;
/** Every operation by its name. */
export type Operations = CoreOperations & ExtensionOperations;

export type RequestName = keyof Operations;
export type RequestParams<Name extends RequestName> = ParamsOf<Operations[Name]>;
export type RequestResult<Name extends RequestName> = Name extends keyof CoreOperations
  ? CoreOperations[Name] extends Operation<z.ZodObject, infer Result>
    ? Result
    : never
  : AnswerOf<Operations[Name]>;

export type { Caller };

/** One handler for each operation of the core. */
export type RequestHandlers = {
  readonly [Name in keyof CoreOperations]: (
    params: RequestParams<Name>,
    caller: Caller,
  ) => Promise<RequestResult<Name>>;
};
