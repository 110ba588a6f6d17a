import * as z from 'zod';
import { answers } from './operation.ts';

/** A command that an owner allowed for good. Times are milliseconds since 1970. */
export interface RememberedCommand {
  readonly id: string;
  /** The absolute path of the program, then its arguments. */
  readonly program: readonly string[];
  readonly folder: string;
  readonly createdBy: string;
  readonly createdAt: number;
}

export interface ApprovalsInfo {
  readonly remembered: readonly RememberedCommand[];
  readonly waiting: readonly {
    readonly code: string;
    readonly session: string;
    readonly title: string;
    readonly detail: string;
    readonly reason: string;
    /** When silence becomes a no. */
    readonly deadline: number;
  }[];
}

export const approvals = {
  approvalsList: answers<ApprovalsInfo>()({
    description: 'Lists the commands that an owner allowed for good, and the approvals that wait for an answer.',
    role: 'owner',
    changes: false,
    showsRuns: true,
    params: z.object({}),
  }),
  approvalsForget: answers<RememberedCommand>()({
    description:
      'Withdraws a permission, so that the assistant asks again before it runs this command; `approval-unknown` if there is none with this id.',
    role: 'owner',
    changes: true,
    params: z.object({ id: z.string().describe('Id of the permission, as `approvalsList` lists it.') }),
  }),
};
