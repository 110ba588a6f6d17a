import { guardsIn, type Guard } from '../guard.ts';

const DESK = 'agent/approvals.test.ts';
const ANSWERS = 'journal/approval-answers.test.ts';
const HASH = 'security/approval-hash.test.ts';

/** Who may answer a question, and what the answer covers. */
export const ANSWER_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'journal/approval-answers.ts',
    [ANSWERS],
    [
      {
        name: 'answers-owner',
        holds: 'Questions are answered by owners alone, whatever code others know.',
        find: "if (message.role !== 'owner') {",
        replace: "if (message.role === 'guest' && message.text === '') {",
      },
      {
        name: 'answers-not-forwarded',
        holds: 'A forwarded /approve is no answer.',
        find: "if (untrusted || origin !== 'user') return null;",
        replace: "if (origin !== 'user') return null;",
      },
      {
        name: 'answers-people',
        holds: 'What the assistant starts by itself answers nothing.',
        find: "if (untrusted || origin !== 'user') return null;",
        replace: 'if (untrusted) return null;',
      },
      {
        name: 'answers-words',
        holds: 'Words instead of an answer are a no.',
        find: "verdict: 'deny', code: null, reason: message.text.trim() } as const;",
        replace: "verdict: 'approve', code: null, reason: message.text.trim() } as const;",
      },
      {
        name: 'answers-words-of-owner',
        holds: 'Words of others, forwarded ones and those of no person answer nothing.',
        find: "if (message.role !== 'owner' || message.origin !== 'user' || message.untrusted) return null;",
        replace: '',
      },
      {
        name: 'answers-unknown-code',
        holds: 'A yes with a code that is unknown is none for the question that waits.',
        find: '(answer.code === null || isReason(answer) ? openIn(ports, message) : undefined)',
        replace: 'openIn(ports, message)',
      },
      {
        name: 'answers-closed',
        holds: 'A question is answered once.',
        find: "if (open.state !== 'waiting' || open.deadline <= ports.clock.now()) {",
        replace: 'if (open.deadline <= ports.clock.now()) {',
      },
      {
        name: 'answers-late',
        holds: 'An answer after the deadline does nothing.',
        find: "if (open.state !== 'waiting' || open.deadline <= ports.clock.now()) {",
        replace: "if (open.state !== 'waiting') {",
      },
      {
        name: 'answers-always-offered',
        holds: 'What was not offered for good is not allowed for good, nor once.',
        find: 'if (draft === undefined) {',
        replace:
          "if (draft === undefined) return decide(ports, message, row, answer, 'Allowed.');\n  if (draft === undefined) {",
      },
      {
        name: 'answers-here',
        holds: 'A yes without a code is for the question of this chat and of no other.',
        find: "WHERE channel = ? AND chat = ? AND thread IS ? AND state = 'waiting' AND deadline > ?",
        replace: "WHERE ? <> '' AND ? <> '' AND ? IS NOT 0 AND state = 'waiting' AND deadline > ?",
      },
      {
        name: 'answers-verdict',
        holds: 'A no is written down as one.',
        find: "const approved = verdict !== 'deny';",
        replace: 'const approved = verdict.length > 0;',
      },
    ],
  ),
  ...guardsIn(
    'journal/approvals.ts',
    [ANSWERS],
    [
      {
        name: 'ledger-ask-once',
        holds: 'A question that was answered is not opened again by asking once more.',
        find: 'INSERT OR IGNORE INTO approvals',
        replace: 'INSERT OR REPLACE INTO approvals',
      },
      {
        name: 'ledger-unknown-state',
        holds: 'A state that nobody knows is a no.',
        find: "state === 'cancelled' ? state : 'denied'",
        replace: "state === 'cancelled' ? state : 'approved'",
      },
      {
        name: 'ledger-owners-chat',
        holds: "Only a chat in which an owner wrote alone is the owner's.",
        find: 'WHERE direct = 1 AND',
        replace: 'WHERE',
        tests: ['agent/approvals-silence.test.ts'],
      },
      {
        name: 'ledger-cancel',
        holds: 'Questions end with the turn that asked them.',
        find: "SET state = 'cancelled', updated_at = ? WHERE ${column} = ?",
        replace: 'SET updated_at = ? WHERE ${column} = ?',
        tests: [DESK],
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
      {
        name: 'allowances-forget',
        holds: 'What is forgotten is not allowed any more.',
        find: "db.run('DELETE FROM allowances WHERE id = ?', id.toLowerCase());",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/approval-hash.ts',
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
        holds: 'Two fields can not change places.',
        find: '`${JSON.stringify(key)}:${canonical(field)}`',
        replace: 'canonical(field)',
        tests: ['security/approval-hash-shape.test.ts'],
      },
      {
        name: 'hash-quoting',
        holds: 'A value can not look like two.',
        find: "`[${value.map(canonical).join(',')}]`",
        replace: "value.map((item) => String(item)).join(',')",
        tests: ['security/approval-hash-shape.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/named-files.ts',
    [HASH],
    [
      {
        name: 'named-files-quoted',
        holds: 'Files that a command names inside quotes or a nested shell are bound to the yes.',
        find: "if (node.type === 'Word') for (const word of [node.value, ...node.value.split(BETWEEN)]) words.add(word);",
        replace: '',
      },
      {
        name: 'named-files-folders',
        holds: 'Files named from a folder that the command changes to are bound to the yes.',
        find: "if (content === 'folder' && folders.length < MOST_FOLDERS && !folders.includes(path)) folders.push(path);",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'security/file-peek.ts',
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
      {
        name: 'peek-no-hang',
        holds: 'A pipe among the named files does not hold the question.',
        find: ' | constants.O_NONBLOCK',
        replace: '',
        tests: ['security/named-files.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'journal/asks.ts',
    ['journal/asks.test.ts'],
    [
      {
        name: 'asks-person',
        holds: 'Only the person who was asked answers.',
        find: "AND thread IS ? AND person = ? AND state = 'waiting' AND deadline > ?",
        replace: "AND thread IS ? AND ? <> '' AND state = 'waiting' AND deadline > ?",
      },
      {
        name: 'asks-people',
        holds: 'What the assistant starts by itself answers no question.',
        find: "if (origin !== 'user') return null;",
        replace: '',
      },
      {
        name: 'asks-forwarded',
        holds: 'What somebody forwards answers no question.',
        find: '(untrusted || media.length > 0',
        replace: '(media.length > 0',
      },
      {
        name: 'asks-late',
        holds: 'An answer after its time is none.',
        find: "AND state = 'waiting' AND deadline > ?",
        replace: "AND state = 'waiting' AND 0 < ?",
      },
      {
        name: 'asks-once',
        holds: 'A question that was answered is not opened by asking it again.',
        find: 'INSERT OR IGNORE INTO asks',
        replace: 'INSERT OR REPLACE INTO asks',
      },
      {
        name: 'asks-button',
        holds: 'A button of another question answers nothing.',
        find: 'if (!pressed.startsWith(prefix)) return null;',
        replace: '',
      },
    ],
  ),
];
