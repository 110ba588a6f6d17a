import { expect, test } from 'vitest';
import { unfinishedLine } from '../../../src/core/agent/receipt/line.ts';
import { receiptOf } from '../../../src/core/agent/receipt/receipt.ts';
import type { EntryDraft, EntryOf, TapeEntry } from '../../../src/core/session/entry.ts';
import { turnOf } from '../../../src/core/session/turns.ts';
import { asks, entries, gives, says } from '../turn-entries.ts';

type Effect = NonNullable<Extract<EntryOf<'message'>, { role: 'tool' }>['effects']>[number];

const file = (target: string, outcome: string, tool = 'write_file'): Effect => ({
  tool,
  kind: 'file',
  target,
  outcome,
});
const command = (target: string, exitCode: number | null, more: Partial<Effect> = {}): Effect => ({
  tool: 'exec',
  kind: 'command',
  target,
  outcome: exitCode === 0 ? 'done' : 'failed',
  ...(exitCode === null ? {} : { exitCode }),
  ...more,
});

/** The turn of a model that made these calls: one list for each of its answers. */
function turn(...steps: readonly (readonly Effect[])[]): readonly TapeEntry[] {
  const drafts: EntryDraft[] = [asks()];
  for (const [at, effects] of steps.entries()) {
    const ids = effects.map((_effect, n) => `T.${at}.${n}`);
    drafts.push(says('', { calls: ids.map((callId) => ({ callId })) }));
    for (const [n, effect] of effects.entries()) drafts.push(gives(ids[n] ?? '', '', effect.tool, [effect]));
  }
  return entries(...drafts, says('Done.'));
}

const line = (...steps: readonly (readonly Effect[])[]): string => unfinishedLine(turn(...steps), { named: true });

test('a turn in which all was done gets no line', () => {
  expect(line([file('a.md', 'done')], [command('npm test', 0)])).toBe('');
});

test.each([
  ['a refused file', [file('notes/plan.md', 'refused')], 'Not done: writing `notes/plan.md` was refused.'],
  ['a file that failed', [file('a.md', 'failed', 'edit_file')], 'Not done: writing `a.md` failed.'],
  ['a command by its exit code', [command('npm test', 2)], 'Failed: `npm test` ended with exit code 2.'],
  ['a command that ran too long', [command('sleep 999', null)], 'Failed: `sleep 999`.'],
  [
    'a call that a crash cut off',
    [command('git push', null, { outcome: 'unknown' })],
    'Cut off, so it may or may not be done: `git push`.',
  ],
  [
    'a message by its chat',
    [{ tool: 'message', kind: 'message', target: 'telegram:7', outcome: 'refused' }],
    'Not done: the message to `telegram:7` was refused.',
  ],
  [
    'a call of which only the tool is known',
    [{ tool: 'mcp_hub_push', kind: 'call', target: null, outcome: 'failed' }],
    'Not done: `mcp_hub_push` failed.',
  ],
  [
    'several, each once, and how many more there are',
    [file('a', 'refused'), file('a', 'refused'), file('b', 'failed'), command('c', 1), command('d', 1)],
    'Not done: writing `a` was refused; writing `b` failed. Failed: `c` ended with exit code 1. And 1 more.',
  ],
] satisfies [string, Effect[], string][])('the line names %s', (_what, effects, expected) => {
  expect(line(effects)).toBe(expected);
});

test('a later success on the same target makes up for a failure, with another tool of files too', () => {
  expect(line([file('a.md', 'failed', 'edit_file')], [file('a.md', 'done', 'write_file')])).toBe('');
  expect(line([command('npm  test', 1)], [command('npm test', 0)])).toBe('');
  expect(line([file('a.md', 'failed')], [file('b.md', 'done')])).toContain('a.md');
  expect(line([command('npm test', 1)], [command('npm run build', 0)])).toContain('npm test');
});

test('a success before the failure, or asked for together with it, makes up for nothing', () => {
  expect(line([file('a.md', 'done')], [file('a.md', 'failed')])).toContain('a.md');
  const push = { tool: 'mcp_hub_push', kind: 'call', target: null };
  const failed = { ...push, outcome: 'failed' };
  const done = { ...push, outcome: 'done' };
  expect(line([failed, done])).toContain('mcp_hub_push');
  expect(line([failed], [done])).toBe('');
});

test('wrong arguments are made up for by any later call of the tool, and a fact by more of its words', () => {
  const misfit = { tool: 'write_file', kind: 'call', target: null, outcome: 'failed' };
  expect(line([misfit], [file('a.md', 'done')])).toBe('');
  expect(line([misfit])).toBe('Not done: `write_file` failed.');
  const fact = { tool: 'memory_write', kind: 'memory', outcome: 'failed' };
  expect(line([{ ...fact, target: 'tea' }], [{ ...fact, target: 'Likes tea', outcome: 'done' }])).toBe('');
});

test('for a name that there is not any later change of that kind makes up, and reading does not', () => {
  const slip = { ...file('note.md', 'failed', 'edit_file'), missing: true };
  expect(line([slip])).toBe('Not done: writing `note.md` failed.');
  expect(line([slip], [file('notes.md', 'done', 'edit_file')])).toBe('');
  const unknown = command('pip install x', 127, { missing: true });
  expect(line([unknown], [command('ls', 0, { minor: true })])).toContain('pip install x');
  expect(line([unknown], [command('pip3 install x', 0)])).toBe('');
});

test('a command that only looks is in the receipt and never in the line', () => {
  const steps = [[command('grep -r todo notes', 1, { minor: true })]];
  expect(line(...steps)).toBe('');
  expect(receiptOf(turnOf(turn(...steps)))).toMatchObject([{ kind: 'command', exitCode: 1, minor: true, step: 1 }]);
});

test('where others read along the line says what kind of thing it was, and no name', () => {
  const all = [
    file('diary.md', 'refused'),
    command('cat /home/ann/.ssh/id', 1),
    { tool: 'memory_write', kind: 'memory', target: 'Ann is ill', outcome: 'unknown' },
  ];
  expect(unfinishedLine(turn(all), { named: false })).toBe(
    'Not done: writing a file was refused. Failed: a command ended with exit code 1. Cut off, so it may or may not be done: a change of the memory.',
  );
});
