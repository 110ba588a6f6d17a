import { apiFactsOf } from '../../bus/api.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { PromptLayer } from '../prompt/layers.ts';
import type { RenderedPrompt } from '../prompt/system-prompt.ts';

const LIGHT =
  'You write short texts for a program, such as the title of a conversation. Write exactly what is asked for, in the form in which it is asked for, and nothing else. Each message begins with a <context> block, which is not part of the task.';

/** The prompt of a turn for a program: with its instructions as the last layer; of a light turn these alone. */
export function withInstructions(
  prompt: RenderedPrompt,
  target: InboundMessage,
  redact: (text: string) => string,
): RenderedPrompt {
  const facts = apiFactsOf(target);
  if (facts === null || (!facts.light && facts.instructions === '')) return prompt;
  const instructions: PromptLayer[] =
    facts.instructions === ''
      ? []
      : [
          {
            name: 'program',
            text: `# Instructions of the program\n\nThe owner talks to you through a program, which says:\n\n${redact(facts.instructions)}`,
          },
        ];
  const light: PromptLayer = { name: 'identity', text: LIGHT };
  const layers = [...(facts.light ? [light] : prompt.layers), ...instructions];
  return { layers, texts: layers.map(({ text }) => text) };
}
