import { guardsIn, type Guard } from '../guard.ts';

const TAINT_MESSAGE = 'agent/taint-message.test.ts';

/** What a model is sent, and whose words it is told they are. */
export const WORD_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/prompt/user-message.ts',
    [TAINT_MESSAGE],
    [
      {
        name: 'message-quote-fenced',
        holds: "Somebody else's quoted words stand in a fence.",
        find: 'const isOthers = othersQuote(message) !== null;',
        replace: 'const isOthers = false;',
      },
      {
        name: 'message-quote-unknown',
        holds: 'A quote of which no one knows who wrote it is not taken for the own.',
        find: "const isOwn = replyTo?.author === 'sender' || replyTo?.author === 'assistant';",
        replace: "const isOwn = replyTo?.author !== 'other';",
        tests: ['agent/user-message-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'agent/turn/tool-calls.ts',
    ['agent/tool-calls.test.ts'],
    [
      {
        name: 'result-fenced',
        holds: 'What strangers wrote stands in a fence, whatever tool brought it.',
        find: 'result.untrusted === true && result.skill === undefined ? fenced(result, call.name, turnId) : result',
        replace: 'result',
      },
    ],
  ),
  ...guardsIn(
    'agent/prompt/system-prompt.ts',
    ['agent/system-prompt.test.ts'],
    [
      {
        name: 'prompt-memory',
        holds: "The memory is in the prompt of the owner's direct chats alone.",
        find: 'memory: ownersDirectChat && !light ? (await read(MEMORY_FILE)).text : null,',
        replace: 'memory: light ? null : (await read(MEMORY_FILE)).text,',
      },
      {
        name: 'prompt-audience',
        holds: 'A prompt that was made for the owner is not given to others.',
        find: 'JSON.stringify([audience.ownersDirectChat, audience.shows,',
        replace: 'JSON.stringify([audience.shows,',
      },
    ],
  ),
  ...guardsIn(
    'agent/prompt/layers.ts',
    ['agent/system-prompt.test.ts'],
    [
      {
        name: 'prompt-user-file',
        holds: "USER.md is in the prompt of the owner's direct chats alone.",
        find: 'return BOOTSTRAP_FILES.filter((name) => ownersDirectChat || name !== PRIVATE_FILE);',
        replace: 'return BOOTSTRAP_FILES.filter((name) => ownersDirectChat || name !== null);',
      },
    ],
  ),
];
