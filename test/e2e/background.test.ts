import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Answer } from '../support/model-script.ts';
import { CommandLine } from '../cli/command-line.ts';
import { tempFolder } from '../support/temp.ts';
import { resultsOf } from '../support/three-people.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const full = { config: { tools: { exec: { mode: 'full' } } } };

/** A number of seconds that no other process sleeps. */
let serial = 0;
const uniqueSleep = (): string => `5${process.pid}.${(serial += 1)}`;

/** Whether something runs whose arguments hold this. */
function runs(mark: string): boolean {
  return readdirSync('/proc').some((pid) => {
    try {
      return /^\d+$/u.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark);
    } catch {
      return false;
    }
  });
}

const inBackground = (...commands: readonly string[]): Answer => ({
  calls: commands.map((command) => ({ name: 'exec', arguments: { command, background: true } })),
});
const toProcess = (args: Readonly<Record<string, unknown>>): Answer => ({
  calls: [{ name: 'process', arguments: args }],
});

const said = (world: World, count: number): Promise<unknown> =>
  waitFor(() => chatOf(world).length >= count, { what: `${count} messages` });

/** The ids that the newest results name. */
const idsIn = (world: World): readonly string[] =>
  resultsOf(world).map((text) => /process=(?<id>\w+)/u.exec(text)?.groups?.['id'] ?? '');

/** Starts commands in a turn of their own; resolves with their ids. */
async function start(world: World, ...commands: readonly string[]): Promise<readonly string[]> {
  const before = chatOf(world).length;
  world.model.reply(inBackground(...commands), 'It runs.');
  world.telegram.userSays(OWNER, 'start it');
  await said(world, before + 1);
  return idsIn(world);
}

const records = (world: World): Promise<readonly string[]> => readdir(join(world.home, 'processes')).catch(() => []);

const userTexts = (world: World): readonly string[] => world.model.requests.map(({ view }) => view.lastUserText);
const wakes = (world: World): number =>
  new Set(userTexts(world).filter((text) => text.includes('that you started in the background'))).size;

/** The chat goes on, and nothing else was said in between. */
async function expectNothingMore(world: World): Promise<void> {
  const before = chatOf(world).length;
  world.model.reply('Here.');
  world.telegram.userSays(OWNER, 'anything else?');
  await said(world, before + 1);
  expect(chatOf(world).slice(before)).toEqual(['Here.']);
}

describe('a command in the background', () => {
  test('leaves the turn at once, and its end wakes the chat once, also across a restart', async () => {
    await using world = await startWorld(full);
    const [id = ''] = await start(world, 'echo begun; until test -e go; do sleep 0.02; done; echo finished; exit 3');
    expect(resultsOf(world)[0]).toMatch(
      /^\[started [^\n]*state=running\]\nbegun\n\[It runs in the background as \w{8}\. /u,
    );
    world.model.reply(toProcess({ action: 'poll', id }), 'The build failed.');
    await writeFile(join(world.workspace, 'go'), '');
    await said(world, 2);
    expect(chatOf(world)).toEqual([
      'It runs.',
      expect.stringMatching(/^The build failed\.\n\nFailed: echo begun; [^\n]* ended with exit code 3\.$/u),
    ]);
    const [context = '', text = ''] = userTexts(world).at(-1)?.split('</context>\n') ?? [];
    expect(context).toContain('origin: system');
    expect(text).toMatch(
      /^\s*The command that you started in the background as \w{8} has ended, after \d+ s: `echo begun/u,
    );
    expect(text).toContain('The command ended with exit code 3.');
    expect(resultsOf(world)[0]).toMatch(
      /^\[polled [^\n]* · error [^\n]*state=over · exitCode=3[^\n]*\nfinished\n\[The command ended/u,
    );
    await waitFor(async () => (await records(world)).length === 0);
    await world.restart();
    await expectNothingMore(world);
    expect(wakes(world)).toBe(1);
  });

  test('whose end was seen by a poll wakes nobody, also when it came in the middle of the turn', async () => {
    await using world = await startWorld(full);
    let id = '';
    const steps: (() => Answer)[] = [
      () => inBackground('until test -e go; do sleep 0.02; done'),
      () => {
        [id = ''] = idsIn(world);
        return { calls: [{ name: 'exec', arguments: { command: 'touch go; sleep 0.7' } }] };
      },
      () => toProcess({ action: 'poll', id, waitSeconds: 10 }),
    ];
    world.model.setHandler(() => steps.shift()?.() ?? 'All done.');
    world.telegram.userSays(OWNER, 'do it');
    await said(world, 1);
    expect(resultsOf(world)[0]).toContain('The command ended with exit code 0.');
    await expectNothingMore(world);
    expect(chatOf(world)).toEqual(['All done.', 'Here.']);
    expect(wakes(world)).toBe(0);
  });

  test('that the model ends wakes nobody and leaves nothing', async () => {
    await using world = await startWorld(full);
    const mark = uniqueSleep();
    const [id = ''] = await start(world, `trap '' TERM; setsid sleep ${mark} & sleep ${mark}; sleep ${mark}`);
    expect(runs(mark)).toBe(true);
    world.model.reply(toProcess({ action: 'kill', id }), 'Ended.');
    world.telegram.userSays(OWNER, 'end it');
    await said(world, 2);
    expect(runs(mark)).toBe(false);
    expect(await records(world)).toEqual([]);
    await expectNothingMore(world);
    expect(wakes(world)).toBe(0);
  });

  test('ends with /stop, which counts it and wakes nobody', async () => {
    await using world = await startWorld(full);
    const mark = uniqueSleep();
    await start(world, `sleep ${mark}`, `(trap '' TERM; sleep ${mark}) & sleep ${mark}`);
    world.telegram.userSays(OWNER, '/stop');
    await said(world, 2);
    expect(chatOf(world)[1]).toBe('Ended 2 commands in the background.');
    await waitFor(() => !runs(mark), { timeoutMs: 3_000 });
    await waitFor(async () => (await records(world)).length === 0);
    await expectNothingMore(world);
    expect(wakes(world)).toBe(0);
  });

  test('ends with the assistant, and the session is told at the next start', async () => {
    await using world = await startWorld(full);
    const mark = uniqueSleep();
    const [id = ''] = await start(world, `echo on its way; sleep ${mark}`);
    world.model.reply('It is gone.');
    await world.restart();
    expect(runs(mark)).toBe(false);
    await said(world, 2);
    expect(chatOf(world)).toEqual(['It runs.', 'It is gone.']);
    const told = userTexts(world).at(-1) ?? '';
    expect(told).toContain(`started in the background as ${id} is gone: the process of the assistant stopped`);
    const output = /(?<path>\/\S+process-\w+\.txt)/u.exec(told)?.groups?.['path'] ?? '';
    expect(await readFile(output, 'utf8')).toBe('on its way\n');
    await world.restart();
    await expectNothingMore(world);
    expect(wakes(world)).toBe(1);
  });

  test('that ran when a backup was made is told of after the restore, behind what the restore ended', async () => {
    await using folder = await tempFolder();
    await using world = await startWorld(full);
    const [id = ''] = await start(world, `sleep ${uniqueSleep()}`);
    const file = join(folder.path, 'backup.tar.gz');
    const line = new CommandLine();
    expect(await line.run('backup', '--home', world.home, '--out', file)).toBe(0);
    await world.assistant[Symbol.asyncDispose]();
    const next = join(folder.path, 'next');
    expect(await line.run('restore', file, '--home', next)).toBe(0);
    world.model.reply('It is gone.');
    await world.restart(next);
    await waitFor(() => chatOf(world).includes('It is gone.'), { what: 'the news' });
    expect(userTexts(world).at(-1)).toContain(`started in the background as ${id} is gone`);
  });
});

describe('a command in the background that a person has to allow', () => {
  test('runs after a yes, and what it is told needs one too', async () => {
    await using world = await startWorld({ config: { tools: { exec: { mode: 'ask' } } } });
    const approve = async (question: number): Promise<void> => {
      await said(world, question);
      world.telegram.userSays(OWNER, '/approve');
    };
    world.model.reply(inBackground('cat'), 'It runs.');
    world.telegram.userSays(OWNER, 'start it');
    await approve(1);
    expect(chatOf(world)[0]).toMatch(/in the background/u);
    await waitFor(() => chatOf(world).includes('It runs.'));
    const [id = ''] = idsIn(world);
    const before = chatOf(world).length;
    world.model.reply(toProcess({ action: 'write', id, text: 'hello' }), 'Written.');
    world.telegram.userSays(OWNER, 'say hello');
    await said(world, before + 1);
    expect(chatOf(world)[before]).toMatch(/Write to a command in the background.*cat.*hello/su);
    world.telegram.userSays(OWNER, '/deny');
    await waitFor(() => chatOf(world).includes(`Written.\n\nNot done: process write ${id} was refused.`));
    expect(resultsOf(world)[0]).toContain('Not done');
    world.telegram.userSays(OWNER, '/stop');
    await waitFor(async () => (await records(world)).length === 0);
  });
});
