import * as z from 'zod';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import { listOf, operation } from './operation.ts';

/** A command that an owner allowed for good. Times are milliseconds since 1970. */
const rememberedCommand = z.object({
  id: z.string(),
  /** The absolute path of the program, then its arguments. */
  program: listOf(z.string()),
  folder: z.string(),
  createdBy: z.string(),
  createdAt: z.number(),
});

export const approvalsList = operation({
  name: 'approvalsList',
  about: 'Lists the commands that an owner allowed for good, and the approvals that wait for an answer.',
  changes: null,
  showsRuns: true,
  input: z.object({}),
  output: z.object({
    remembered: listOf(rememberedCommand),
    waiting: listOf(
      z.object({
        code: z.string(),
        session: z.string(),
        title: z.string(),
        detail: z.string(),
        reason: z.string(),
        /** When silence becomes a no. */
        deadline: z.number(),
      }),
    ),
  }),
  run: async ({ journal }) => ({
    remembered: journal.allowances.list(),
    waiting: journal.questions
      .waiting('approval')
      .map(({ code, session, deadline, request: { title, detail, reason } }) => ({
        code,
        session,
        title,
        detail,
        reason,
        deadline,
      })),
  }),
});

export const approvalsForget = operation({
  name: 'approvalsForget',
  about:
    'Withdraws a permission, so that the assistant asks again before it runs this command; `approval-unknown` if there is none with this id.',
  changes: 'approvals',
  input: z.object({ id: z.string().describe('Id of the permission, as `approvalsList` lists it.') }),
  output: rememberedCommand,
  run: async ({ journal }, { id }) => {
    const forgotten = await journal.allowances.forget(id);
    if (forgotten !== undefined) return forgotten;
    const given = JSON.stringify(id.slice(0, 40));
    throw new AppError(
      'approval-unknown',
      `There is no permission with the id ${given}. To list them, run: ${assistantCommand('approvals')}`,
    );
  },
});
