import { guardsIn, type Guard } from '../guard.ts';

const QUESTIONS = 'agent/questions.test.ts';

/** Who is asked, and what they see. */
export const APPROVAL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/questions/questions.ts',
    [QUESTIONS],
    [
      {
        name: 'approvals-deadline',
        holds: 'Silence is a no after ten minutes.',
        find: 'until: clock.now() + WAIT_MS[kind]',
        replace: 'until: clock.now() + WAIT_MS[kind] * 1000',
      },
      {
        name: 'approvals-expired',
        holds: 'A question that no one answered in time is closed for good.',
        find: "await ledger.end(callId, 'expired');",
        replace: '',
      },
      {
        name: 'approvals-redacted',
        holds: 'A question shows no configured secret.',
        find: 'const request = shownRequest(asked, mask);',
        replace: 'const request = shownRequest(asked, (text) => text);',
      },
      {
        name: 'approvals-terminal-always',
        holds: 'What was not offered for good is not allowed by saying so at a terminal.',
        find: "if (reply === 'always' && request.always !== undefined) {",
        replace:
          "if (reply === 'always' && request.always === undefined) return { approved: true };\n    if (reply === 'always' && request.always !== undefined) {",
      },
      {
        name: 'approvals-broken-terminal',
        holds: 'A terminal that goes away without an answer is a no.',
        find: 'return no(waiting.signal.aborted ? SILENCE.approval : CANCELLED);',
        replace: 'return waiting.signal.aborted ? no(SILENCE.approval) : { approved: true };',
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'approvals-nobody',
        holds: 'Where no one can be asked the answer is no.',
        find: "return no(call.target?.origin === 'api' ? NO_CHAT : NOBODY);",
        replace: 'return { approved: true };',
      },
      {
        name: 'approvals-owners-chat',
        holds: "A question is not put into somebody else's chat.",
        find: "target.chatType === 'direct' ? target.role === 'owner' : ledger.hasOwner(target)",
        replace: 'true',
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'approvals-own-group',
        holds: 'A question is not put into a group that no owner is known to read.',
        find: ': ledger.hasOwner(target);',
        replace: ': true;',
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'approvals-cancelled',
        holds: 'A question that was given up is a no.',
        find: 'default:\n      return no(CANCELLED);',
        replace: 'default:\n      return { approved: true };',
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'approvals-stopped',
        holds: 'What a /stop ended does not wait for a yes.',
        find: "wake();\n      this.#ports.closed(callId, 'Cancelled.');",
        replace: '',
        tests: ['agent/questions-silence.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'agent/questions/text.ts',
    [QUESTIONS],
    [
      {
        name: 'question-fence',
        holds: 'What is asked about cannot end its block and go on as words of the program.',
        find: "const fence = '`'.repeat(longest + 1);",
        replace: "const fence = '`'.repeat(3);",
      },
    ],
  ),
  ...guardsIn(
    'agent/questions/questions.ts',
    [QUESTIONS],
    [
      {
        name: 'question-code',
        holds: 'No one can guess the code of a question.',
        find: 'Array.from(random.bytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length])',
        replace: 'Array.from(random.bytes(LENGTH), (_, at) => ALPHABET[at])',
      },
    ],
  ),
];
