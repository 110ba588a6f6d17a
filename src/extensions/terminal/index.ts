import { commandRow, flagOption, numberOption, textOption, textsOption } from '../../core/api-rows.ts';
import { defineExtension } from '../../core/api.ts';

const chat = commandRow({
  name: 'chat',
  before: 'acp',
  description: 'talk to the assistant in this terminal, attached to a running gateway or alone',
  options: {
    message: textOption('<text>', 'say this, print the answer and end ("-": read it from stdin)', { short: 'm' }),
    json: flagOption('print the answer and its details as JSON'),
    image: textsOption('<path>', 'send an image with the message; may be repeated'),
    model: textOption('<ref>', 'use this model, e.g. anthropic/claude-sonnet-5-5'),
    session: textOption('<name>', 'the conversation to continue', { fallback: 'main' }),
    plain: flagOption('in the terminal, print lines only: no colours, nothing drawn twice (for screen readers)'),
    timeout: numberOption('<seconds>', 'stop after this many seconds; the exit code is then 1'),
  },
  exits: { 0: 'it answered', 1: 'the turn failed, timed out, or something in it was refused', 130: 'Ctrl-C' },
  examples: ['chat', 'chat -m "What is in my workspace?"', 'chat -m - --json < question.txt'],
  load: async () => (await import('./chat.ts')).chatCommand,
});

/** Conversations in a terminal. docs/terminal.md */
export default defineExtension({
  name: 'terminal',
  cli: [chat],
  conversation: async (context, talk) => await (await import('./converse.ts')).converseHere(context, talk),
});
