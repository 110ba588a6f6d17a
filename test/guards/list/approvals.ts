import { guardsIn, type Guard } from '../guard.ts';

const DESK = 'agent/questions.test.ts';

/** Who is asked, and what they see. */
export const APPROVAL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/questions.ts',
    [DESK],
    [
      {
        name: 'approvals-same-hash',
        holds: 'A yes from before a restart does not count for a call that is another now.',
        find: "if (row.hash === hash || (row.state !== 'waiting' && row.state !== 'approved'))",
        replace: "if (row.hash !== '')",
      },
      {
        name: 'approvals-changed-ends',
        holds: 'A question about something that changed can not be answered any more.',
        find: "await this.#ports.ledger.end(call.callId, 'cancelled');\n    return no(CHANGED);",
        replace: 'return no(CHANGED);',
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'approvals-deadline',
        holds: 'Silence is a no after ten minutes.',
        find: 'until: clock.now() + WAIT_MS[kind]',
        replace: 'until: clock.now() + WAIT_MS[kind] * 1000',
      },
      {
        name: 'approvals-terminal-deadline',
        holds: 'Silence at a terminal is a no after ten minutes.',
        find: "deadline(this.#ports.clock, WAIT_MS.approval, 'the question')",
        replace: "deadline(this.#ports.clock, WAIT_MS.approval * 1000, 'the question')",
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'approvals-expired',
        holds: 'A question that nobody answered in time is closed for good.',
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
        name: 'approvals-whole',
        holds: 'What does not fit one message is not spread over many.',
        find: 'if (this.#ports.messages(message()) > 1) {',
        replace: 'if (this.#ports.messages(message()) < 1) {',
        tests: ['e2e/questions.test.ts'],
      },
      {
        name: 'approvals-no-file',
        holds: 'Nobody is asked about what a file could not show them.',
        find: "if ('problem' in file) return tooLong(request, file.problem);",
        replace: "if ('problem' in file) return { approved: true };",
        tests: ['e2e/questions.test.ts'],
      },
      {
        name: 'approvals-terminal-always',
        holds: 'What was not offered for good is not allowed by saying so at a terminal.',
        find: "if (reply === 'always' && request.always !== undefined) {",
        replace:
          "if (reply === 'always' && request.always === undefined) return { approved: true };\n    if (reply === 'always' && request.always !== undefined) {",
      },
      {
        name: 'approvals-only-true',
        holds: 'Only a plain yes at a terminal is one.',
        find: 'if (reply === true)',
        replace: "if (reply !== false && reply !== 'always')",
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
        holds: 'Where nobody can be asked the answer is no.',
        find: 'return chat === undefined ? no(NOBODY) :',
        replace: 'return chat === undefined ? { approved: true } :',
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
        name: 'approvals-own',
        holds: 'What somebody else makes the assistant ask is never answered without its code.',
        find: "return chat === target && chat.chatType === 'direct';",
        replace: 'return target !== undefined;',
        tests: ['e2e/answers.test.ts'],
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
    'agent/question-text.ts',
    [DESK],
    [
      {
        name: 'question-detail-visible',
        holds: 'Nothing in what is asked about is hidden from whoever reads it.',
        find: 'detail: withMarkedHosts(visible(masked)),',
        replace: 'detail: masked,',
        tests: ['agent/question-text.test.ts'],
      },
      {
        name: 'question-reason-visible',
        holds: 'Nothing in the reason of a question is hidden from whoever reads it.',
        find: 'visible(mask(reason)),',
        replace: 'mask(reason),',
        tests: ['agent/question-text.test.ts'],
      },
      {
        name: 'question-fence',
        holds: 'What is asked about can not end its block and go on as words of the program.',
        find: "const fence = '`'.repeat(longest + 1);",
        replace: "const fence = '`'.repeat(3);",
      },
      {
        name: 'question-name',
        holds: 'The name that somebody chose does not look like anything else in a question.',
        find: ".replaceAll(/[`*_[\\]()<>\\n]/gu, ' ')",
        replace: '',
        tests: ['agent/question-text.test.ts'],
      },
      {
        name: 'question-elsewhere',
        holds: 'Whoever is asked about somebody else is told for whom it is.',
        find: 'return ` (for ${who} in \\`${sessionKey}\\`)`;',
        replace: "return '';",
        tests: ['agent/question-text.test.ts'],
      },
      {
        name: 'question-no-always',
        holds: 'A button for good is there only where that was offered.',
        find: "...(always === undefined ? [] : [{ id: `${APPROVAL_BUTTONS.always}${code}`, label: 'Always' }]),",
        replace: "{ id: `${APPROVAL_BUTTONS.always}${code}`, label: 'Always' },",
        tests: ['agent/question-text.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'agent/question-code.ts',
    [DESK],
    [
      {
        name: 'question-code',
        holds: 'Nobody can guess the code of a question.',
        find: 'Array.from(random.bytes(LENGTH), (byte) => ALPHABET[byte % ALPHABET.length])',
        replace: 'Array.from(random.bytes(LENGTH), (_, at) => ALPHABET[at])',
      },
    ],
  ),
];
