import { guardsIn, type Guard } from '../guard.ts';

const TAINT_MESSAGE = 'agent/taint-message.test.ts';

/** What a model is sent, and whose words it is told they are. */
export const WORD_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/user-message.ts',
    [TAINT_MESSAGE],
    [
      {
        name: 'message-forward-fenced',
        holds: 'Forwarded words stand in a fence.',
        find: 'text: message.untrusted ? fenced(message, text) : text',
        replace: 'text',
      },
      {
        name: 'message-forward-tainted',
        holds: 'A forward taints the conversation.',
        find: 'message.untrusted ||',
        replace: '',
        tests: ['agent/user-message-walls.test.ts'],
      },
      {
        name: 'message-guest-tainted',
        holds: "A guest's words taint the conversation for whoever comes later.",
        find: "message.role === 'guest' ||",
        replace: '',
        tests: ['agent/user-message-walls.test.ts'],
      },
      {
        name: 'message-context-tainted',
        holds: 'What others said in a group taints the conversation.',
        find: 'message.context.some(({ isOwners }) => isOwners !== true) ||',
        replace: '',
        tests: ['agent/user-message-walls.test.ts'],
      },
      {
        name: 'message-quote-tainted',
        holds: "Somebody else's quoted words taint the conversation.",
        find: '||\n    othersQuote(message) !== null\n',
        replace: '',
        tests: ['agent/user-message-walls.test.ts'],
      },
      {
        name: 'message-quote-fenced',
        holds: "Somebody else's quoted words stand in a fence.",
        find: 'const isOthers = othersQuote(message) !== null;',
        replace: 'const isOthers = false;',
      },
      {
        name: 'message-quote-unknown',
        holds: 'A quote of which nobody knows who wrote it is not taken for the own.',
        find: "const isOwn = replyTo?.author === 'sender' || replyTo?.author === 'assistant';",
        replace: "const isOwn = replyTo?.author !== 'other';",
        tests: ['agent/user-message-walls.test.ts'],
      },
      {
        name: 'message-context-fenced',
        holds: 'What others said in a group stands in a fence.',
        find: "isOwners ? earlier : fenced(message, earlier, 'messages of others')",
        replace: 'earlier',
      },
      {
        name: 'message-names',
        holds: "A name closes no block and begins no line of the program's own.",
        find: "const flat = harmless(text).replace(/\\s+/gu, ' ').replaceAll('<', '‹').replaceAll('>', '›').trim();",
        replace: 'const flat = text;',
        tests: ['agent/user-message.test.ts'],
      },
      {
        name: 'message-chat-id',
        holds: "The id of a chat begins no line of the program's own.",
        find: "sessionKeyOf(message).replace(/[^\\w:@.%!#+=~$-]/gu, '_');",
        replace: 'sessionKeyOf(message);',
        tests: ['agent/user-message-walls.test.ts'],
      },
      {
        name: 'message-redacted',
        holds: 'A secret that a person sends does not reach the tape.',
        find: 'const text = options.redact(',
        replace: 'const text = (',
        tests: ['agent/user-message.test.ts'],
      },
      {
        name: 'message-foreign-skill',
        holds: 'A message that calls a skill others may have written taints the conversation.',
        find: ' || taint.untrusted || foreignSkill;',
        replace: ' || taint.untrusted;',
        tests: ['agent/user-message-walls.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'agent/tool-calls.ts',
    ['agent/tool-calls.test.ts'],
    [
      {
        name: 'result-fenced',
        holds: 'What strangers wrote stands in a fence, whatever tool brought it.',
        find: 'result.untrusted === true && result.skill === undefined ? fenced(result, call.name, turnId) : result',
        replace: 'result',
      },
      {
        name: 'result-header',
        holds: 'Nothing in the header of a result looks like markup.',
        find: 'title: harmless(result.title),',
        replace: 'title: result.title,',
      },
      {
        name: 'result-tainted',
        holds: 'A result of strangers taints the conversation.',
        find: 'isError: result.isError === true,\n    ...(result.untrusted === true ? { untrusted: true } : {}),',
        replace: 'isError: result.isError === true,',
      },
      {
        name: 'result-private',
        holds: 'A private result makes the conversation private.',
        find: '    ...(result.private === true ? { private: true } : {}),\n    ...(result.untrusted',
        replace: '    ...(result.untrusted',
      },
      {
        name: 'result-hook-tainted',
        holds: 'What a hook makes of words of strangers still counts as theirs.',
        find: '...shown,\n    ...(result.untrusted === true ? { untrusted: true } : {}),',
        replace: '...shown,',
      },
      {
        name: 'tool-hook-denies',
        holds: 'A call that a guard of a plugin refuses does not run.',
        find: "if ('denied' in before) return",
        replace: "if ('denied' in before && before.denied === '') return",
      },
    ],
  ),
  ...guardsIn(
    'agent/system-prompt.ts',
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
    'agent/prompt.ts',
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
