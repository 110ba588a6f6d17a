import * as z from 'zod';
import { errorResult } from './registry/result.ts';
import { defineTool, type Tool } from './tool.ts';

/** Offered only in groups where the assistant also hears what was not said to it. */
export const STAY_SILENT = 'stay_silent';

const parameters = z.object({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(400)
    .describe('Why nothing is sent, in a few words, e.g. they are talking to each other.'),
});

/** Creates the tool that ends a turn without an answer. It is refused if a person addressed the assistant. */
export function staySilentTool({ isMeant }: { readonly isMeant: (turnId: string) => boolean }): Tool {
  return defineTool({
    name: STAY_SILENT,
    fits: 'tiny',
    withheldFrom: ['subagent'],
    description:
      'End your turn without sending anything. Use it in a group for a message that was not addressed to you when you have nothing useful to add.',
    parameters,
    effect: 'none',
    role: 'guest',
    execute: async (_, { call }) =>
      isMeant(call.turnId)
        ? errorResult('silent', 'This message was addressed to you, so you cannot stay silent: answer it.')
        : { title: 'silent', output: 'Nothing is sent.', silences: true },
  });
}
