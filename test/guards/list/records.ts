import { guardsIn, type Guard } from '../guard.ts';

/** What is written down, who owns a home, and what a /stop ends. */
export const RECORD_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'journal/stop.ts',
    ['journal/stop.test.ts'],
    [
      {
        name: 'stop-children',
        holds: 'A /stop ends what a turn began elsewhere.',
        find: "UNION SELECT turns.id FROM turns JOIN family ON turns.parent = family.id WHERE turns.state = 'running')",
        replace: "UNION SELECT turns.id FROM turns WHERE turns.state = 'none')",
      },
      {
        name: 'stop-answers',
        holds: 'Answers that were not sent yet are held back by a /stop.',
        find: "const unsent = ports.outbox.cancelUnsent(stop.sessionKey, 'stopped');",
        replace: 'const unsent = 0;',
      },
    ],
  ),
  ...guardsIn(
    'storage/open-database.ts',
    ['journal/schema.test.ts'],
    [
      {
        name: 'schema-untold',
        holds: 'A newer file that does not say who may read it is refused.',
        find: "?.['min'] ?? version) : version;",
        replace: "?.['min'] ?? version) : 0;",
      },
      {
        name: 'schema-oldest',
        holds: 'Only steps that add something let older programs read on.',
        find: 'migrations.findLastIndex(({ additive }) => !additive) + 1;',
        replace: '1;',
      },
    ],
  ),
  ...guardsIn(
    'journal/inbox.ts',
    ['journal/journal.test.ts'],
    [
      {
        name: 'inbox-dedupe-pruned',
        holds: 'A message whose row is gone is not taken again.',
        find: "?? db.get('SELECT 1 AS n FROM dedupe WHERE key = ?', dedupeKey(channel, account, chatId, externalId))",
        replace: '',
        tests: ['e2e/retention.test.ts'],
      },
      {
        name: 'inbox-edits-answer',
        holds: 'A corrected message answers no question.',
        find: 'const answer = message.edits === undefined ? takeAnswer(',
        replace: "const answer = message.id !== '' ? takeAnswer(",
        tests: ['e2e/answers.test.ts'],
      },
      {
        name: 'inbox-edits',
        holds: 'No one puts words into a message of somebody else by editing it.',
        find: 'if (waiting.sender.id !== sender.id) return false;',
        replace: '',
        tests: ['journal/inbox-guards.test.ts'],
      },
    ],
  ),
];
