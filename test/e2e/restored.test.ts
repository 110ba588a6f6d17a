import { copyFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { CommandLine } from '../cli/command-line.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { tempFolder } from '../support/temp.ts';
import { PLATFORMS, startEverywhere } from '../support/three-platforms.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const RESTORED = /^I was restored from the backup of /u;
const numberIn = (text: string): string => /\b(?:say|Said) (\d+)/u.exec(text)?.[1] ?? '';

test('a home that was backed up while three platforms talked repeats nothing on the next machine, and reads what nobody read', async () => {
  await using folder = await tempFolder();
  const effects = join(folder.path, 'effects');
  await using everywhere = await startEverywhere({ config: { tools: { exec: { mode: 'full', sandbox: 'off' } } } });
  const { world } = everywhere;
  world.model.setHandler(({ view }) => {
    const n = numberIn(view.lastUserText.split('\n').at(-1) ?? '');
    if (view.toolResults.length > 0) return { text: `Said ${n}.`, delayMs: 20 };
    return { calls: [{ name: 'exec', arguments: { command: `echo ${n} >> ${effects}` } }], delayMs: 20 };
  });
  const said = (): readonly string[] => PLATFORMS.flatMap((platform) => everywhere.texts(platform));
  const answered = (): number => said().filter((text) => numberIn(text) !== '').length;
  let sent = 0;
  const quiet = new AbortController();
  const talking = (async () => {
    while (!quiet.signal.aborted) {
      for (const platform of PLATFORMS) everywhere.sends(platform, `say ${(sent += 1)}`);
      await delay(60);
    }
  })();
  await waitFor(() => answered() > 6, { what: 'answers on three platforms' });
  const file = join(folder.path, 'backup.tar.gz');
  const line = new CommandLine();
  expect(await line.run('backup', '--home', world.home, '--out', file, '--json')).toBe(0);
  expect(JSON.parse(line.out)).toMatchObject({ inUse: true });
  // The old one goes on for a while, as it would between the last backup and its end.
  const before = answered();
  await waitFor(() => answered() > before + 6, { what: 'answers after the backup' });
  quiet.abort();
  await talking;
  await world.assistant[Symbol.asyncDispose]();

  for (const [n, platform] of PLATFORMS.entries()) everywhere.sends(platform, `say ${9_001 + n}`);
  const next = join(folder.path, 'next');
  expect(await line.run('restore', file, '--home', next)).toBe(0);
  await world.restart(next);
  await waitFor(() => ['9001', '9002', '9003'].every((n) => said().some((text) => numberIn(text) === n)), {
    timeoutMs: 40_000,
    what: 'answers to what nobody read',
  });
  await waitFor(() => said().filter((text) => RESTORED.test(text)).length === 1, { what: 'the one notice' });
  const numbers = said()
    .map(numberIn)
    .filter((n) => n !== '');
  expect(numbers.toSorted()).toEqual([...new Set(numbers)].toSorted());
  const lines = (await readFile(effects, 'utf8')).trim().split('\n');
  expect(lines.toSorted()).toEqual([...new Set(lines)].toSorted());
  expect(said().filter((text) => RESTORED.test(text))).toHaveLength(1);
}, 180_000);

test('what was open at the time of a backup ends after its restore, with one notice, and can be taken up again', async () => {
  await using folder = await tempFolder();
  await using world = await startWorld({ config: { agent: { whenBusy: 'queue' } } });
  world.model.reply({ fault: 'hang' });
  world.telegram.userSays(OWNER, 'the question');
  await waitFor(() => world.model.inFlight === 1);
  world.telegram.userSays(OWNER, 'and another');
  const file = join(folder.path, 'backup.tar.gz');
  const line = new CommandLine();
  await waitFor(async () => (await world.assistant.call('inboxList', {})).length === 2, { what: 'both messages' });
  expect(await line.run('backup', '--home', world.home, '--out', file)).toBe(0);
  await world.assistant[Symbol.asyncDispose]();
  const next = join(folder.path, 'next');
  expect(await line.run('restore', file, '--home', next)).toBe(0);
  world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  const assistant = await world.restart(next);
  await waitFor(() => chatOf(world).length === 1, { what: 'the notice' });
  expect(chatOf(world)[0]).toMatch(
    /^I was restored from the backup of .* and know nothing of what happened after it\. What was open then has ended, because it may have been done since: 1 unfinished task, 1 waiting message\. Ask again for what you still need; .*inbox.* lists the messages\.$/u,
  );
  world.telegram.userSays(OWNER, 'hello');
  await waitFor(() => chatOf(world).length === 2, { what: 'an answer' });
  expect(chatOf(world)[1]).toBe('Answer to hello');
  // The model reads that the first was left open, and nothing was asked of it for the others.
  expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain('was not finished when the backup was made');
  expect(world.model.requests).toHaveLength(2);
  const waiting = await assistant.call('inboxList', {});
  expect(waiting.map(({ text }) => text).toSorted()).toEqual(['and another', 'the question']);
  // The next start has nothing more to end.
  await world.restart(next);
  world.telegram.userSays(OWNER, 'again');
  await waitFor(() => chatOf(world).length === 3, { what: 'an answer after another start' });
  expect(chatOf(world)[2]).toBe('Answer to again');
});

test('a command that ran between the copy of the journal and the copy of its conversation is not run again after the restore', async () => {
  await using folder = await tempFolder();
  const effects = join(folder.path, 'effects');
  await using world = await startWorld({ config: { tools: { exec: { mode: 'full', sandbox: 'off' } } } });
  world.telegram.userSays(OWNER, 'hello');
  world.model.reply('Hello.');
  await waitFor(() => chatOf(world).length === 1, { what: 'the first answer' });
  const line = new CommandLine();
  const [early, late] = [join(folder.path, 'early.tar.gz'), join(folder.path, 'late.tar.gz')];
  expect(await line.run('backup', '--home', world.home, '--out', early)).toBe(0);
  world.model.reply({ calls: [{ name: 'exec', arguments: { command: `echo ran >> ${effects}` } }] });
  world.model.reply({ fault: 'hang' });
  world.telegram.userSays(OWNER, 'pay the bill');
  await waitFor(() => world.model.inFlight === 1 && world.model.requests.length === 3, { what: 'the command' });
  expect(await line.run('backup', '--home', world.home, '--out', late)).toBe(0);
  await world.assistant[Symbol.asyncDispose]();

  // The journal of the early one with the conversation of the late one is what a slow backup has.
  const [next, earlier] = [join(folder.path, 'next'), join(folder.path, 'earlier')];
  expect(await line.run('restore', late, '--home', next)).toBe(0);
  expect(await line.run('restore', early, '--home', earlier)).toBe(0);
  await copyFile(join(earlier, 'state.db'), join(next, 'state.db'));
  const wasTold = /was not finished when the backup was made/u;
  world.model.setHandler(({ text }) =>
    wasTold.test(text)
      ? 'Good morning.'
      : { calls: [{ name: 'exec', arguments: { command: `echo ran >> ${effects}` } }] },
  );
  const assistant = await world.restart(next);
  await waitFor(() => chatOf(world).some((text) => RESTORED.test(text)), { what: 'the notice' });
  expect(chatOf(world).find((text) => RESTORED.test(text))).toContain('been done since: 1 unfinished task. Ask again');
  world.telegram.userSays(OWNER, 'good morning');
  await waitFor(() => chatOf(world).at(-1) === 'Good morning.', { what: 'an answer' });
  expect(await readFile(effects, 'utf8')).toBe('ran\n');
  expect((await assistant.call('inboxList', {})).map(({ text }) => text)).toEqual(['pay the bill']);
});

test('jobs that were due between a backup and its restore do not run again, and the owner is told which', async () => {
  await using folder = await tempFolder();
  const effects = join(folder.path, 'effects');
  const clock = new SkippingClock();
  await using world = await startWorld({ clock, config: { tools: { exec: { mode: 'full', sandbox: 'off' } } } });
  const { assistant } = world;
  const add = async (id: string, kind: 'message' | 'agent' | 'command', when: string, text: string): Promise<void> => {
    await assistant.call('cron', { action: 'add', job: { id, kind, when, text, chat: `telegram:${OWNER}` } });
  };
  world.telegram.userSays(OWNER, 'hello');
  world.model.reply('Hello.');
  await waitFor(() => chatOf(world).length === 1, { what: 'the first answer' });
  await add('pay', 'command', 'every 10m', `,exec command="echo paid >> ${effects}"`);
  await add('rent', 'command', 'in 15 minutes', `,exec command="echo rent >> ${effects}"`);
  await add('pills', 'message', 'in 16 minutes', 'Take the pills.');
  await add('later', 'message', 'in 3 hours', 'Later.');
  const line = new CommandLine();
  line.clock = clock;
  const file = join(folder.path, 'backup.tar.gz');
  expect(await line.run('backup', '--home', world.home, '--out', file)).toBe(0);
  clock.skip(17 * 60_000);
  await waitFor(() => chatOf(world).some((text) => text.startsWith('Take the pills.')), { what: 'the reminder' });
  await waitFor(async () => (await readFile(effects, 'utf8').catch(() => '')).split('\n').length === 3, {
    what: 'both commands',
  });
  await assistant[Symbol.asyncDispose]();
  const done = await readFile(effects, 'utf8');
  const before = chatOf(world).length;

  const next = join(folder.path, 'next');
  expect(await line.run('restore', file, '--home', next)).toBe(0);
  const restored = await world.restart(next);
  await waitFor(() => chatOf(world).length >= before + 3, { what: 'the notices' });
  const told = chatOf(world).slice(before);
  expect(told[0]).toMatch(/may have run already.*: pay, rent, pills\. \/cron run ID runs one now\.$/u);
  expect(told.slice(1).toSorted()).toEqual([
    expect.stringMatching(
      /^I may have done the task rent of .* already, before I was restored from a backup, so I didn't do it again\.$/u,
    ),
    expect.stringMatching(
      /^I may have sent the reminder pills of .* already, before I was restored from a backup\. In case I didn't: Take the pills\.$/u,
    ),
  ]);
  const { runs } = await restored.call('cron', { action: 'show', id: 'pay' });
  expect(runs.find(({ execution }) => execution === 'skipped')).toMatchObject({
    execution: 'skipped',
    reason: expect.stringContaining('restored'),
  });
  // The next start does not either, and what comes due later runs.
  await world.restart(next);
  await waitFor(() => world.telegram.calls.length > 0);
  expect(await readFile(effects, 'utf8')).toBe(done);
  clock.skip(10 * 60_000);
  await waitFor(async () => (await readFile(effects, 'utf8')).length > done.length, { what: 'the next run' });
  clock.skip(3 * 3_600_000);
  await waitFor(() => chatOf(world).some((text) => text.startsWith('Later.')), { what: 'the later reminder' });
  expect(chatOf(world).filter((text) => text.startsWith('Take the pills.'))).toHaveLength(1);
}, 60_000);

test('jobs that a restore skipped are not offered with /cron run where the schedule is switched off', async () => {
  await using folder = await tempFolder();
  const clock = new SkippingClock();
  await using world = await startWorld({ clock });
  world.telegram.userSays(OWNER, 'hello');
  world.model.reply('Hello.');
  await waitFor(() => chatOf(world).length === 1, { what: 'the first answer' });
  const job = { id: 'pills', kind: 'message', when: 'in 15 minutes', text: 'Take the pills.' } as const;
  await world.assistant.call('cron', { action: 'add', job: { ...job, chat: `telegram:${OWNER}` } });
  const line = new CommandLine();
  line.clock = clock;
  const file = join(folder.path, 'backup.tar.gz');
  expect(await line.run('backup', '--home', world.home, '--out', file)).toBe(0);
  await world.assistant[Symbol.asyncDispose]();
  clock.skip(17 * 60_000);
  const next = join(folder.path, 'next');
  expect(await line.run('restore', file, '--home', next)).toBe(0);
  expect(await line.run('config', 'set', 'cron.enabled', 'false', '--home', next)).toBe(0);
  await world.restart(next);
  await waitFor(() => chatOf(world).some((text) => RESTORED.test(text)), { what: 'the notice' });
  expect(chatOf(world).find((text) => RESTORED.test(text))).toMatch(/may have run already.*: pills\.$/u);
}, 60_000);
