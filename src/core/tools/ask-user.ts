import * as z from 'zod';
import { oneLine } from '../util/text.ts';
import { errorResult } from './registry/result.ts';
import { defineTool, type Tool } from './tool.ts';

const MOST_CHOICES = 8;
const LONGEST_CHOICE = 60;

const parameters = z.object({
  question: z.string().trim().min(1).max(2_000).describe('The question, written like your answers.'),
  choices: z
    .array(z.string().trim().min(1).max(LONGEST_CHOICE))
    .max(MOST_CHOICES)
    .optional()
    .describe(
      `Answers to show as buttons, e.g. ["Yes", "No"]: up to ${MOST_CHOICES} of up to ${LONGEST_CHOICE} characters. Other replies are possible. Default: none.`,
    ),
});

/** Asks the person whom the turn answers, and waits for their next words; asked once, also across a restart. */
export function askUserTool(): Tool {
  return defineTool({
    name: 'ask_user',
    withheldFrom: ['subagent', 'visit'],
    onlyReads: true,
    description:
      'Ask the person whom you answer one question and wait, at most an hour, for their reply, which is the result. Use it when you need the reply to continue, or to offer buttons; ask other questions at the end of your answer. It fails in a turn that no person started.',
    parameters,
    effect: 'idempotent',
    waits: true,
    execute: async ({ question, choices = [] }, { people }) => {
      const title = `asked ${oneLine(question, 80)}`;
      const answer = await people.ask({ text: question, choices });
      if (!answer.answered) {
        return errorResult(title, `No answer: ${answer.reason}. Continue as well as you can, or say what you need.`);
      }
      // A choice is the model's own text.
      const isOwn = !choices.includes(answer.text.trim());
      return { title, output: answer.text, metadata: {}, ...(isOwn ? { author: 'person' } : {}) };
    },
  });
}
