import { expect, test } from 'vitest';
import { AppError } from '../../src/core/util/errors.ts';
import { CommandLine } from './command-line.ts';

const AT = Date.UTC(2026, 10, 21, 5, 10);
const LISTED = {
  id: 'ab12cd34',
  program: ['/usr/bin/git', 'commit', '-m', "it's done"],
  folder: '/home/ann/ws',
  createdBy: 'telegram:42',
  createdAt: AT,
};
const OPEN = {
  code: 'zz99yy88',
  session: 'telegram:42',
  title: 'Run a command',
  detail: 'touch a\u202E',
  reason: 'It asks.',
  deadline: AT + 600_000,
};

function commandLine(empty = false): CommandLine {
  const line = new CommandLine();
  line.assistant.answers = {
    approvalsList: async () => (empty ? { remembered: [], waiting: [] } : { remembered: [LISTED], waiting: [OPEN] }),
    approvalsForget: async ({ id }) => {
      if (id !== LISTED.id) throw new AppError('approval-unknown', 'Nothing is remembered under "x".');
      return LISTED;
    },
  };
  line.configure({ agent: { timezone: 'Europe/Vienna' } });
  return line;
}

test('lists what was allowed for good and what waits, with nothing hidden', async () => {
  for (const argv of [['approvals'], ['approvals', 'list']]) {
    const line = commandLine();
    expect(await line.run(...argv)).toBe(0);
    expect(line.out).toBe(
      [
        `ab12cd34  /usr/bin/git commit -m 'it'\\''s done' in /home/ann/ws  (by telegram:42, 2026-11-21 06:10)\n`,
        'Run a command? (telegram:42, until 2026-11-21 06:20) It asks.\n',
        '  │ touch a\\u{202e}\n',
        '  answer in a chat with /approve zz99yy88 or /deny zz99yy88\n',
      ].join(''),
    );
  }
  const nothing = commandLine(true);
  await nothing.run('approvals');
  expect(nothing.out).toBe('No command is allowed for good, and no question is waiting.\n');
});

test('forgets by id, and says so when there is no such thing', async () => {
  const line = commandLine();
  expect(await line.run('approvals', 'forget', 'ab12cd34')).toBe(0);
  expect(line.out).toContain('The assistant asks again before it runs /usr/bin/git commit');
  const wrong = commandLine();
  expect(await wrong.run('approvals', 'forget', 'x')).toBe(1);
  expect(wrong.err).toContain('Nothing is remembered under "x".');
});

test('prints JSON', async () => {
  const line = commandLine();
  await line.run('approvals', '--json');
  expect(JSON.parse(line.out)).toEqual({ remembered: [LISTED], waiting: [OPEN] });
});
