import * as z from 'zod';
import { runToolOnce } from '../../tools/outside-turn.ts';
import { oneLine } from '../../util/text.ts';
import { listOf, operation } from './operation.ts';

/** Characters of the arguments in the audit log. */
const LONGEST_ARGUMENTS = 400;

export const toolsList = operation({
  name: 'toolsList',
  about: 'Lists the tools that there are now, with what a call of each takes and may change.',
  changes: null,
  input: z.object({}),
  output: listOf(
    z.object({
      name: z.string(),
      description: z.string(),
      /** JSON Schema of an object. */
      parameters: z.record(z.string(), z.unknown()),
      /** What a call may change: none, idempotent, effect. */
      effect: z.string(),
      /** The least role that may call it. */
      role: z.string(),
    }),
  ),
  run: async ({ tools }) =>
    tools.list().map(({ tool, spec }) => ({ ...spec, effect: tool.effect, role: tool.role ?? 'trusted' })),
});

export const toolRun = operation({
  name: 'toolRun',
  about: 'Runs a tool outside of a conversation, under the rules of a turn. A call that needs an approval is not run.',
  changes: 'tools',
  showsRuns: true,
  input: z.object({
    name: z.string().describe('Name of the tool.'),
    arguments: z.string().describe('JSON text, as a model would write it.'),
    dryRun: z.boolean().default(false).describe('True: it is only decided whether it may run.'),
  }),
  output: z.object({
    decision: z.enum(['allow', 'ask', 'deny']),
    reason: z.string().nullable(),
    /** Null when it did not run. */
    result: z
      .object({
        title: z.string(),
        output: z.string(),
        metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
        isError: z.boolean(),
      })
      .nullable(),
  }),
  audit: ({ name, arguments: json, dryRun }) =>
    dryRun ? null : `tool run ${oneLine(name, LONGEST_ARGUMENTS)} ${oneLine(json, LONGEST_ARGUMENTS)}`,
  run: async ({ tools, paths, newId, redact }, call) => {
    const report = await runToolOnce(tools, call, { workspace: paths.workspace, newId });
    return { ...report, reason: report.reason === null ? null : redact(report.reason) };
  },
});
