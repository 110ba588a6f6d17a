import { expect, test } from 'vitest';
import { CommandLine } from './command-line.ts';

const ENTRY = {
  at: '2026-11-21T05:10:11.000Z',
  turn: 't1',
  session: 'telegram:42',
  who: 'telegram:42',
  role: 'owner',
  origin: 'user',
  what: 'exec {"command":"touch b\u202E"}',
  decision: 'approved' as const,
  reason: 'Commands ask.',
  approval: 'terminal:owner',
};
const AT = Date.parse(ENTRY.at);
const STEPS = [{ at: AT, what: 'came in' }];
const OLDER = { ...ENTRY, what: 'write_file a.txt', decision: 'allowed' as const, reason: null, approval: null };

function commandLine(asked: unknown[] = []): CommandLine {
  const line = new CommandLine();
  line.configure({ agent: { timezone: 'Europe/Vienna' } });
  line.assistant.answers = {
    audit: async (params) => {
      asked.push(params);
      return [ENTRY, OLDER];
    },
    why: async () => ({
      stories: [
        {
          at: AT,
          session: 'telegram:42',
          subject: 'hello',
          cause: 'It was answered.',
          steps: STEPS,
          cost: null,
          turn: 't1',
        },
      ],
      own: [{ at: AT + 1_000, what: 'job water', outcome: 'done', reason: null }],
    }),
  };
  return line;
}

test('shows decisions, oldest first, with nothing hidden', async () => {
  const line = commandLine();
  expect(await line.run('audit')).toBe(0);
  expect(line.out).toBe(
    [
      '2026-11-21 06:10:11  allowed   telegram:42 (owner)  write_file a.txt\n',
      '    turn t1\n',
      '2026-11-21 06:10:11  approved  telegram:42 (owner)  exec {"command":"touch b\\u{202e}"}\n',
      '    Commands ask.; approved: terminal:owner\n',
      '    turn t1\n',
    ].join(''),
  );
});

test('why tells its times in the zone of the assistant', async () => {
  const line = commandLine();
  expect(await line.run('why')).toBe(0);
  expect(line.out).toBe(
    '2026-11-21 06:10:11  telegram:42  hello\n    It was answered.\n2026-11-21 06:10:12  done           job water\n',
  );
  line.out = '';
  expect(await line.run('why', 't1')).toBe(0);
  expect(line.out).toContain('2026-11-21 06:10:11  came in\n');
});

test('asks for what is wanted, and refuses a count that is none', async () => {
  const asked: unknown[] = [];
  await commandLine(asked).run('audit', '--last', '3', '--asked', '--about', 'exec');
  expect(asked).toEqual([{ count: 3, asked: true, about: 'exec' }]);
  const wrong = commandLine();
  expect(await wrong.run('audit', '--last', '-3')).toBe(2);
  expect(wrong.err).toBe(
    '--last must be a whole number from 1 to 9999, but "-3" was given. See npm run assistant -- audit --help.\n',
  );
});

test('prints JSON', async () => {
  const line = commandLine();
  await line.run('audit', '--json');
  expect(JSON.parse(line.out)).toEqual([OLDER, ENTRY]);
});
