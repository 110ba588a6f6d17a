import * as z from 'zod';
import { errorResult } from './result.ts';
import { defineTool, type Tool } from './tool.ts';

/** Offered only in groups where the assistant also hears what was not said to it. */
export const STAY_SILENT = 'stay_silent';

/** Ends a turn without a word. Refused where somebody spoke to the assistant: whoever does that gets an answer. */
export function staySilentTool({ isMeant }: { readonly isMeant: (turnId: string) => boolean }): Tool {
  return defineTool({
    name: STAY_SILENT,
    description: 'Say nothing. For what was not said to you, when you have nothing worth adding.',
    parameters: z.object({ reason: z.string().trim().min(1).max(400).describe('Why, in a few words') }),
    effect: 'none',
    role: 'guest',
    execute: async (_, { turnId }) =>
      isMeant(turnId)
        ? errorResult('silent', 'Somebody spoke to you, so answer.')
        : { title: 'silent', output: 'Nothing is sent.', metadata: {} },
  });
}
