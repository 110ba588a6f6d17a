import { createHash } from 'node:crypto';
import { readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { rebuildRequest, type Rebuilt } from '../../src/core/agent/turn/rebuild-request.ts';
import { createProviders } from '../../src/core/providers/registry.ts';
import type { CallRecord, TapeEntry } from '../../src/core/session/entry.ts';
import { MediaStore } from '../../src/core/storage/media.ts';
import { PromptParts } from '../../src/core/storage/prompt-parts.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type DialectName, type World } from '../support/world.ts';
import { say, SESSION } from './memory-world.ts';

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const READ = { name: 'read_file', arguments: { path: 'notes.txt' } };
const WORDS = 'We spoke of the garden, the long winter, the neighbours and what there was for dinner. ';
const DIALECTS: readonly DialectName[] = ['openai', 'anthropic', 'openai-responses', 'ollama'];

async function showPhoto(world: World, caption: string): Promise<void> {
  const before = chatOf(world).length;
  world.telegram.addFile('p1', PNG, 'photos/p1.jpg');
  world.telegram.userSays(OWNER, '', { text: undefined, photo: [{ file_id: 'p1', file_size: PNG.length }], caption });
  await waitFor(() => chatOf(world).length > before, { what: 'a reply to the photo' });
}

const callsOf = (entries: readonly TapeEntry[]): readonly CallRecord[] =>
  entries.flatMap((entry) => (entry.kind === 'note' && entry.call !== undefined ? [entry.call] : []));
const prompts = (world: World): PromptParts => new PromptParts(join(world.home, 'prompts'), systemClock);

/** Builds an attempt again from what lies on the disk. */
async function rebuild(
  world: World,
  call: CallRecord,
  { attempt = 0, dialect = 'openai', extraBody }: { attempt?: number; dialect?: DialectName; extraBody?: object } = {},
): Promise<Rebuilt> {
  const entries = (await world.tape(SESSION)).toReversed();
  const wire = dialect === 'openai-responses' ? { wire: 'responses' as const } : {};
  const name = dialect === 'openai-responses' ? 'openai' : dialect;
  const config = { apiKey: MODEL_KEY, baseUrl: world.model.url, ...wire, extraBody: { ...extraBody } };
  const windowOf = (): number => 16_000;
  const providers = createProviders({ program: PROGRAM, configs: { [name]: config }, windowOf, clock: systemClock });
  const media = new MediaStore(join(world.home, 'media'));
  return await rebuildRequest(call, attempt, {
    // oxlint-disable-next-line require-await -- a tape in memory
    backwards: async function* () {
      yield* entries;
    },
    promptParts: prompts(world),
    image: (hash) => media.image(hash),
    body: (provider, request) => providers.body(provider, request),
  });
}

describe.each(DIALECTS)('each model call of a %s session', (dialect) => {
  test('is rebuilt to the byte from the tape, through tools, an image, trims and an anchor', async () => {
    await using world = await startWorld({
      dialect,
      config: { agent: { contextWindow: 16_000, maxOutputTokens: 1000 } },
    });
    await writeFile(join(world.workspace, 'notes.txt'), 'some words of a note\n'.repeat(500));
    world.model.reply({ text: 'A dot.', usage: null });
    await showPhoto(world, 'what is this?');
    const kinds = new Set<string>();
    for (let n = 1; n <= 30 && !(kinds.has('trim') && kinds.has('anchor')); n += 1) {
      world.model.reply({ text: 'Let me look.', calls: [READ], usage: null }, { text: `Answer ${n}.`, usage: null });
      expect(await say(world, `question ${n}. ${WORDS.repeat(30)}`)).toBe(`Answer ${n}.`);
      for (const { kind } of await world.tape(SESSION)) kinds.add(kind);
    }
    world.model.reply({ text: 'After it.', usage: null });
    await say(world, 'and now?');
    const entries = await world.tape(SESSION);
    expect([...kinds]).toEqual(expect.arrayContaining(['trim', 'anchor']));
    const calls = callsOf(entries);
    expect(calls).toHaveLength(world.model.requests.length);
    for (const [index, call] of calls.entries()) {
      const sent = world.model.requests[index]?.text ?? '';
      expect(call.attempts).toHaveLength(1);
      expect(call.attempts[0]?.body).toBe(createHash('sha256').update(sent).digest('hex'));
      const rebuilt = await rebuild(world, call, { dialect });
      expect(rebuilt).toMatchObject({ ok: true });
      expect(rebuilt.ok && rebuilt.body).toBe(sent);
    }
  });
});

test('prompt layers and tool lists lie in the home once by their hash, for its owner alone', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  for (const text of ['one', 'two', 'three']) await say(world, text);
  const calls = callsOf(await world.tape(SESSION));
  const named = new Set(calls.flatMap(({ layers, tools }) => [...layers, tools]));
  const folder = join(world.home, 'prompts');
  expect((await readdir(folder)).toSorted()).toEqual([...named].toSorted());
  for (const name of named) expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  const system = await Promise.all((calls[0]?.layers ?? []).map((hash) => prompts(world).read(hash)));
  for (const layer of system) expect(world.model.requests[0]?.view.system).toContain(layer?.trim());
});

test('no tool may read them', async () => {
  await using world = await startWorld({ config: { tools: { restrictToWorkspace: false } } });
  world.model.setHandler(() => 'ok');
  await say(world, 'hello');
  const [name = ''] = await readdir(join(world.home, 'prompts'));
  world.model.reply({ calls: [{ name: 'read_file', arguments: { path: join(world.home, 'prompts', name) } }] }, 'No.');
  await say(world, 'read it');
  expect(world.model.requests.at(-1)?.view.toolResults.at(-1)?.text).toContain('which no tool may touch');
});

test('a request counts as rebuilt only when its hash matches, else it is said why', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  await say(world, 'hello');
  const [call] = callsOf(await world.tape(SESSION));
  if (call === undefined) throw new Error('no call is recorded');
  const otherwise = await rebuild(world, call, { extraBody: { top_p: 0.5 } });
  expect(otherwise).toEqual({ ok: false, reason: expect.stringContaining('differs from what was sent') });
  await rm(join(world.home, 'prompts', call.layers[0] ?? ''));
  expect(await rebuild(world, call)).toEqual({ ok: false, reason: expect.stringContaining('a layer of its system') });
});

test('a plugin that changes the messages makes a call that is not rebuilt', async () => {
  await using world = await startWorld({
    hooks: [
      {
        owner: 'test',
        hooks: {
          beforeModel: (_facts, request) => ({
            type: 'replace' as const,
            value: {
              ...request,
              messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'else' }] }],
            },
          }),
        },
      },
    ],
  });
  world.model.setHandler(() => 'ok');
  await say(world, 'hello');
  const [call] = callsOf(await world.tape(SESSION));
  expect(call?.changed).toBe(true);
  expect(call && (await rebuild(world, call))).toMatchObject({ ok: false });
});

test('failed calls are recorded with the key and the model that failed and why, and each attempt is rebuilt', async () => {
  await using world = await startWorld({
    config: { providers: { openai: { apiKey: [MODEL_KEY, `${MODEL_KEY}-2`] } } },
  });
  world.model.reply({ error: { status: 401, message: 'Incorrect API key provided.' } }, 'ok');
  await say(world, 'hello');
  const [call] = callsOf(await world.tape(SESSION));
  expect(call?.attempts).toMatchObject([
    { provider: 'openai', model: 'scripted-model', key: 1, failed: { kind: 'auth' } },
    { provider: 'openai', model: 'scripted-model', key: 2 },
  ]);
  expect(call?.attempts[1]?.failed).toBeUndefined();
  if (call === undefined) throw new Error('no call is recorded');
  for (const attempt of [0, 1]) expect(await rebuild(world, call, { attempt })).toMatchObject({ ok: true });
  world.model.reply({ error: { status: 402, message: 'this account is empty' } });
  await say(world, 'and now?');
  const last = callsOf(await world.tape(SESSION)).at(-1);
  expect(last?.attempts).toMatchObject([{ failed: { kind: 'quota', status: 402 } }]);
});

test('what no tape names any more is pruned after a day, and all else stays', async () => {
  await using world = await startWorld();
  world.model.setHandler(() => 'ok');
  await say(world, 'hello');
  const folder = join(world.home, 'prompts');
  const named = await readdir(folder);
  const left = 'f'.repeat(64);
  const fresh = 'e'.repeat(64);
  await writeFile(join(folder, left), 'an old layer');
  await writeFile(join(folder, fresh), 'a new layer');
  const old = new Date(Date.now() - 25 * 3_600_000);
  for (const name of [...named, left]) await utimes(join(folder, name), old, old);
  const tapes = join(world.home, 'sessions');
  expect(await prompts(world).prune({ tapes })).toEqual({ files: 1, bytes: 'an old layer'.length });
  expect((await readdir(folder)).toSorted()).toEqual([...named, fresh].toSorted());
  for (const name of await readdir(tapes)) await rm(join(tapes, name));
  expect((await prompts(world).prune({ tapes })).files).toBe(named.length);
  expect(await readdir(folder)).toEqual([fresh]);
});
