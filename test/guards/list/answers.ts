import { guardsIn, type Guard } from '../guard.ts';

const QUESTIONS = 'agent/questions.test.ts';
const ANSWERS = 'agent/question-answers.test.ts';
const WORDS = 'agent/question-words.test.ts';
const HASH = 'security/approval-hash.test.ts';

/** Who may answer a question, and what the answer covers. */
export const ANSWER_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/questions/answers.ts',
    [ANSWERS],
    [
      {
        name: 'answers-words',
        holds: `Words instead of an answer are a no.`,
        find: `return deny(only, words, 'Not allowed: I took`,
        replace: `return decide(only, { verdict: 'approve', code: null, reason: words }) ?? deny(only, words, 'Not allowed: I took`,
      },
      {
        name: 'answers-closed',
        holds: `A question is answered once.`,
        find: `return named.state === 'waiting' ? decide(named, answer) : closed(named);`,
        replace: `return decide(named, answer);`,
      },
      {
        name: 'answers-always-offered',
        holds: `What was not offered for good is not allowed for good, nor once.`,
        find: `if (question.request.always === undefined) {`,
        replace: `if (question.request.always === undefined && question.code === '') {`,
      },
      {
        name: 'asks-person',
        holds: `Only the person who was asked answers.`,
        find: `kind === 'ask' && person === sender.id && sight`,
        replace: `kind === 'ask' && person !== '' && sender.id !== '' && sight`,
        tests: [WORDS],
      },
      {
        name: 'asks-unseen',
        holds: `Words that were written before a question was shown are no answer to it.`,
        find: ` && sight !== 'unseen',`,
        replace: ` && String(sight) !== '',`,
        tests: [WORDS],
      },
    ],
  ),
  ...guardsIn(
    'journal/answers.ts',
    [ANSWERS],
    [
      {
        name: 'answers-here',
        holds: `A yes without a code is for the question of this chat and of no other.`,
        find: `WHERE channel = ? AND chat = ? AND thread IS ? AND state = 'waiting' AND deadline > ?`,
        replace: `WHERE ? <> '' AND ? <> '' AND ? IS NOT 0 AND state = 'waiting' AND deadline > ?`,
      },
      {
        name: 'asks-late',
        holds: `Words after the time of a question are no answer to it.`,
        find: `AND state = 'waiting' AND deadline > ?`,
        replace: `AND state = 'waiting' AND 0 < ?`,
        tests: [WORDS],
      },
      {
        name: 'answers-sending',
        holds: `A question that may be on its way was not seen for sure.`,
        find: `return 'sent';`,
        replace: `return 'shown';`,
      },
      {
        name: 'answers-below',
        holds: `A message above the question in its chat was written before it.`,
        find: `return isAbove ? 'shown' : 'unseen';`,
        replace: `return isAbove || sent.number('updated_at') > 0 ? 'shown' : 'unseen';`,
      },
    ],
  ),
  ...guardsIn(
    'journal/questions.ts',
    [ANSWERS],
    [
      {
        name: 'answers-late',
        holds: `An answer after the deadline does nothing.`,
        find: `return row?.state === 'waiting' && row.deadline <= clock.now() ?`,
        replace: `return row?.state === 'waiting' && row.deadline < 0 ?`,
      },
      {
        name: 'ledger-ask-once',
        holds: 'A question that was answered is not opened again by asking once more.',
        find: 'INSERT OR IGNORE INTO questions',
        replace: 'INSERT OR REPLACE INTO questions',
      },
      {
        name: 'ledger-unknown-state',
        holds: 'A state that no one knows is a no.',
        find: "?? 'denied';",
        replace: "?? 'approved';",
      },
      {
        name: 'ledger-owners-chat',
        holds: "Only a chat in which an owner wrote alone is the owner's.",
        find: 'WHERE direct = 1 AND',
        replace: 'WHERE',
        tests: ['agent/questions-silence.test.ts'],
      },
      {
        name: 'ledger-cancel',
        holds: 'Questions end with the turn that asked them.',
        find: "SET state = 'cancelled', updated_at = ? WHERE ${column} = ?",
        replace: 'SET updated_at = ? WHERE ${column} = ?',
        tests: [QUESTIONS],
      },
    ],
  ),
  ...guardsIn(
    'journal/allowances.ts',
    [ANSWERS],
    [
      {
        name: 'allowances-exact',
        holds: 'What was allowed for good is known by its hash alone.',
        find: "'SELECT 1 FROM allowances WHERE hash = ?', hash",
        replace: "'SELECT 1 FROM allowances WHERE ? IS NOT NULL', hash",
      },
    ],
  ),
  ...guardsIn(
    'security/access/approval-hash.ts',
    [HASH],
    [
      {
        name: 'hash-values',
        holds: 'Everything that a yes covers has a part in its hash.',
        find: 'return JSON.stringify(value) ?? ',
        replace: 'return typeof value ?? ',
      },
      {
        name: 'hash-keys',
        holds: 'Two fields cannot change places.',
        find: '`${JSON.stringify(key)}:${canonical(field)}`',
        replace: 'canonical(field)',
        tests: ['security/approval-hash-shape.test.ts'],
      },
      {
        name: 'hash-quoting',
        holds: 'A value cannot look like two.',
        find: "`[${value.map(canonical).join(',')}]`",
        replace: "value.map((item) => String(item)).join(',')",
        tests: ['security/approval-hash-shape.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/paths/file-peek.ts',
    [HASH],
    [
      {
        name: 'peek-content',
        holds: 'A file that changed has another digest.',
        find: '.update(await handle.readFile())',
        replace: '.update(path)',
      },
      {
        name: 'peek-large',
        holds: 'A file that is too large to be read is known by its inode and times.',
        find: 'return `large ${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;',
        replace: "return 'large';",
        tests: ['security/named-files.test.ts'],
      },
    ],
  ),
];
