import type * as z from 'zod';
import { activity } from './activity.ts';
import { approvals } from './approvals.ts';
import { editors } from './editors.ts';
import { extensions } from './extensions.ts';
import { files } from './files.ts';
import { health } from './health.ts';
import { mail } from './mail.ts';
import { memory } from './memory.ts';
import type { Operation } from './operation.ts';
import { people } from './people.ts';
import { schedule } from './schedule.ts';
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
  ...schedule,
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

/** Every operation by its name. */
export type Operations = typeof OPERATIONS;

export type RequestName = keyof Operations;
export type RequestParams<Name extends RequestName> = z.output<Operations[Name]['params']>;
export type RequestResult<Name extends RequestName> =
  Operations[Name] extends Operation<z.ZodObject, infer Result> ? Result : never;

/** Who calls an operation. */
export interface Caller {
  /** The channel that they came in by, such as `terminal` or `web`, and who they are there. */
  readonly door: string;
}

/** One handler for each operation. */
export type RequestHandlers = {
  readonly [Name in RequestName]: (params: RequestParams<Name>, caller: Caller) => Promise<RequestResult<Name>>;
};

export function isRequestName(name: string): name is RequestName {
  return Object.hasOwn(OPERATIONS, name);
}
