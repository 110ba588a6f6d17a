import { expect, test } from 'vitest';
import { AppError } from '../../src/core/util/errors.ts';
import { CommandLine } from './command-line.ts';

const AT = Date.UTC(2026, 10, 21, 5, 10);
const OUT = {
  id: 't1:0',
  channel: 'telegram',
  chat: '42',
  kind: 'answer',
  state: 'dead',
  reason: 'blocked\u202E',
  attempts: 2,
  createdAt: AT,
  text: 'The answer.',
};
const { kind: _, attempts: __, ...common } = OUT;
const IN = { ...common, id: 'm1', state: 'accepted', reason: null, who: 'Ann' };

function commandLine(asked: unknown[] = []): CommandLine {
  const line = new CommandLine();
  const done = async (params: { readonly id: string }): Promise<null> => {
    if (params.id === 'none') throw new AppError('mail-unknown', 'There is no message "none".');
    asked.push(params);
    return null;
  };
  line.assistant.answers = {
    outboxList: async () => [OUT],
    inboxList: async () => [IN],
    outboxRetry: done,
    outboxDrop: done,
    inboxRetry: done,
    inboxDrop: done,
  };
  line.configure({ agent: { timezone: 'Europe/Vienna' } });
  return line;
}

test('lists both ways, with nothing hidden', async () => {
  const line = commandLine();
  expect(await line.run('outbox')).toBe(0);
  expect(await line.run('inbox', 'list')).toBe(0);
  expect(line.out).toBe(
    [
      't1:0  2026-11-21 06:10  dead       telegram:42  The answer.\n    blocked\\u{202e}\n',
      'm1  2026-11-21 06:10  accepted   telegram:42 Ann  The answer.\n',
    ].join(''),
  );
});

test('does what is asked for, and says so', async () => {
  const asked: unknown[] = [];
  const line = commandLine(asked);
  for (const argv of [
    ['outbox', 'retry'],
    ['outbox', 'drop'],
    ['inbox', 'retry'],
    ['inbox', 'drop'],
  ]) {
    expect(await line.run(...argv, 'x')).toBe(0);
  }
  expect(asked).toHaveLength(4);
  expect(line.out).toBe(
    'The message is sent again.\nThe message is not sent.\nThe message is queued for a new turn.\nThe message is not answered.\n',
  );
  expect(await line.run('outbox', 'retry', 'none')).toBe(1);
  expect(line.err).toContain('There is no message "none".');
});

test('prints JSON', async () => {
  const line = commandLine();
  await line.run('inbox', '--json');
  expect(JSON.parse(line.out)).toEqual([IN]);
});
