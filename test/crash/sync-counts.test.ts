import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { testUnless } from '../support/test-with.ts';
import { CHATS, killHard, prepareHome, startChild } from '../support/crash-process.ts';
import { diskEnvironment, whyNoDiskLibrary, readSyncs, type Sync } from '../support/disk-library.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { startFakeTelegram, type FakeTelegram } from '../support/fake-telegram.ts';
import type { ModelApiRequest, ScriptedCall, Step } from '../support/model-script.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

/** Whatever a turn leaves to be synced later is synced within this time, milliseconds. */
const QUIET_MS = 600;
/** What nobody waits for is synced so much later. */
const TIMER_MS = 200;
const noDisk = await whyNoDiskLibrary();
const diskTest = testUnless(noDisk);
const stack = new AsyncDisposableStack();
let telegram: FakeTelegram;
let model: FakeModel;
let log = '';
let home = '';

/** Calls the tools that the message names, one after the other, and answers. */
function play({ view, body }: ModelApiRequest): Step {
  const asked = view.lastUserText.split('\n').at(-1) ?? '';
  const messages = body['messages'] as readonly { readonly role: string }[];
  const results = messages
    .slice(messages.findLastIndex(({ role }) => role === 'user') + 1)
    .filter(({ role }) => role === 'tool').length;
  const call = CALLS[asked]?.[results];
  return call === undefined ? { text: `done: ${asked}` } : { calls: [call] };
}

const write = (n: number): ScriptedCall => ({
  name: 'write_file',
  arguments: { path: `note-${n}.txt`, content: `text ${n}` },
});
const CALLS: Readonly<Record<string, readonly ScriptedCall[]>> = {
  look: [{ name: 'list_dir', arguments: { path: '.' } }],
  'look twice': [
    { name: 'list_dir', arguments: { path: '.' } },
    { name: 'list_dir', arguments: { path: 'memory' } },
  ],
  run: [{ name: 'exec', arguments: { command: 'true' } }],
  'run twice': [
    { name: 'exec', arguments: { command: 'true' } },
    { name: 'exec', arguments: { command: 'echo 2' } },
  ],
  write: [write(1)],
  'write twice': [write(2), write(3)],
};

beforeAll(async () => {
  if (noDisk !== undefined) return;
  const folder = stack.use(await tempFolder());
  telegram = stack.use(await startFakeTelegram());
  model = stack.use(await startFakeOpenAi({ handler: play }));
  home = join(folder.path, 'home');
  await mkdir(home, { mode: 0o700 });
  await prepareHome(home, telegram, model.url, 'openai');
  log = join(folder.path, 'syncs');
  await writeFile(log, '');
  const disk = await diskEnvironment({ home, log });
  const child = await startChild(home, { ...(disk === undefined ? {} : { disk }), pauseMs: 0 });
  stack.defer(() => killHard(child));
  for (let n = 0; n < 3; n += 1) await turn('hello');
});
afterAll(() => stack.disposeAsync());

/** The syncs of one turn until its answer arrived, without those of the log that its timer made because the turn took long. */
async function turn(text: string): Promise<readonly Sync[]> {
  await delay(QUIET_MS);
  const before = readSyncs(log).length;
  const answers = telegram.sentMessages.length;
  const began = performance.now();
  telegram.userSays(CHATS[0] ?? 0, text);
  await waitFor(() => telegram.sentMessages.length > answers, { timeoutMs: 60_000, what: `the answer to ${text}` });
  expect(telegram.sentMessages.at(-1)?.visibleText).toContain(`done: ${text}`);
  let timed = Math.floor((performance.now() - began) / TIMER_MS);
  const syncs = readSyncs(log).slice(before);
  return syncs.filter(({ path }, n) => {
    const isBorder = n === 0 || n === syncs.length - 1;
    if (isBorder || !path.endsWith('state.db-wal') || timed === 0) return true;
    timed -= 1;
    return false;
  });
}

const syncPoints = (syncs: readonly Sync[]): readonly string[] =>
  syncs.map(({ path }) => path.slice(home.length + 1)).map((path) => (path.startsWith('sessions/') ? 'tape' : path));

/** The fewest syncs of a few turns: a timer may add one of what an earlier turn left. */
async function fewest(text: string): Promise<readonly string[]> {
  const tries: (readonly string[])[] = [];
  for (let n = 0; n < 3; n += 1) {
    const syncs = await turn(text);
    expect(syncs.filter(({ onMainThread }) => onMainThread)).toEqual([]);
    tries.push(syncPoints(syncs));
  }
  return tries.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

diskTest(
  'a warm plain turn waits for three syncs, accept, last words and close, and none is on the event loop',
  async () => {
    expect(await fewest('hello')).toEqual(['state.db-wal', 'tape', 'state.db-wal']);
  },
);

diskTest('a call that has no effect adds no sync, one that has adds one', async () => {
  const plain = (await fewest('hello')).length;
  expect((await fewest('look')).length).toBe(plain);
  expect((await fewest('look twice')).length).toBe(plain);
  const once = await fewest('run');
  const twice = await fewest('run twice');
  expect(once.toSorted()).toEqual(['state.db-wal', 'state.db-wal', 'tape', 'tape']);
  expect(twice.toSorted()).toEqual(['state.db-wal', 'state.db-wal', 'tape', 'tape', 'tape']);
});

diskTest('write_file adds to the sync of its call the copy for /undo, the file and its folder', async () => {
  const kinds = (all: readonly string[]): readonly string[] =>
    all.map((place) => place.replace(/^versions.*jsonl$/u, 'undo').replace(/^workspace\/.*/u, 'file'));
  const file = ['tape', 'undo', 'file', 'workspace'];
  const first = file.toSpliced(1, 0, 'versions/undo/turns');
  expect(kinds(await fewest('write'))).toEqual(['state.db-wal', ...first, 'tape', 'state.db-wal']);
  expect(kinds(await fewest('write twice'))).toEqual(['state.db-wal', ...first, ...file, 'tape', 'state.db-wal']);
});
