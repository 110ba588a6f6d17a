import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { errorCode } from '../../src/core/util/errors.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

/** What is to be forgotten, and words beside it that are to stay. */
const CANARY = 'quokka4711';
const SESSION = `telegram:${OWNER}`;

async function says(world: World, text: string): Promise<string> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `the reply to ${text}` });
  return chatOf(world)[before] ?? '';
}

function codeIn(question: string): string | undefined {
  return /\/approve (\w+)/u.exec(question)?.[1];
}

/** Files of the home that hold the canary, in any case, and in what encodes text. */
async function holders(home: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    // A file that is being written has another name for a moment.
    const bytes = await readFile(path).catch((error: unknown) => {
      if (errorCode(error) === 'ENOENT') return Buffer.alloc(0);
      throw error;
    });
    const texts = [bytes.toString('latin1').toLowerCase(), bytes.toString('utf16le').toLowerCase()];
    const codes = [CANARY, Buffer.from(CANARY).toString('hex'), Buffer.from(CANARY).toString('base64').slice(0, -2)];
    if (codes.some((code) => texts.some((text) => text.includes(code.toLowerCase())))) found.push(relative(home, path));
  }
  return found.toSorted();
}

/** A world that has the canary wherever a conversation leads it, and a restart that the world makes. */
async function worldThatKnows(): Promise<World & { readonly restarts: () => number }> {
  let restarts = 0;
  const world = await startWorld({
    config: { tools: { exec: { sandbox: 'off' } } },
    onRestart: () => (restarts += 1),
  });
  world.model.reply(
    { calls: [{ name: 'memory_write', arguments: { fact: `The password of the shed is ${CANARY}` } }] },
    {
      calls: [
        {
          name: 'memory_write',
          arguments: { fact: `The shed has a new lock, not ${CANARY}`, replaces: 'the password of the shed' },
        },
      ],
    },
    `Noted: ${CANARY}.\nAnything else?`,
    { calls: [{ name: 'write_file', arguments: { path: 'shed.txt', content: `${CANARY}\n` } }] },
    { calls: [{ name: 'write_file', arguments: { path: 'shed.txt', content: 'nothing\n' } }] },
    {
      calls: [{ name: 'exec', arguments: { command: `for n in $(seq 20000); do echo "line $n ${CANARY}"; done` } }],
    },
    'Done.',
    'Hello.',
  );
  await says(world, `the password of the shed is ${CANARY}`);
  const question = await says(world, 'write it down and print it');
  world.telegram.userSays(OWNER, `/approve ${codeIn(question)}`);
  await waitFor(() => chatOf(world).includes('Done.'), { what: 'the end of the command' });
  await says(world, `good day\nI say ${CANARY.toUpperCase()} once more`);
  await writeFile(
    join(world.workspace, 'memory', 'HISTORY.md'),
    `[2026-11-01 10:00] Talked of ${CANARY}.\n\n[2026-11-02 10:00] Talked of tea.\n`,
  );
  await world.assistant.call('editorsOpen', { session: 'acp:shed', folder: `/srv/${CANARY}` });
  await world.assistant.call('editorsAllow', { session: 'acp:shed', allowed: true, always: true });
  await world.assistant.call('editorsOpen', { session: 'acp:garden', folder: '/srv/garden' });
  return Object.assign(world, { restarts: () => restarts });
}

describe('what is to be forgotten', () => {
  test('is shown first, and after a yes it is in no byte of the home; the rest of the conversation stays', async () => {
    await using world = await worldThatKnows();
    const before = await holders(world.home);
    for (const place of [
      'state.db',
      'sessions/',
      'versions/undo/copies/',
      'workspace/memory/',
      'prompts/',
      'audit',
      'editors.json',
    ])
      expect(
        before.filter((path) => path.startsWith(place)),
        place,
      ).not.toEqual([]);

    const question = await says(world, `/memory forget ${CANARY}`);
    expect(question).toContain('Forget this for good');
    expect(question).toContain(`The password of the shed is ${CANARY}`);
    world.telegram.userSays(OWNER, `/approve ${codeIn(question)}`);
    await waitFor(() => world.restarts() === 1, { what: 'the restart' });
    expect(chatOf(world)).toContainEqual(expect.stringContaining('I start anew to erase it'));
    await world.restart();
    await waitFor(() => chatOf(world).some((text) => text.startsWith('It is forgotten for good')), {
      what: 'the notice',
    });
    expect(await holders(world.home)).toEqual([]);
    // Neither what stood in MEMORY.md nor what it took the place of.
    expect(await world.assistant.call('memoryFacts', {})).toEqual([]);
    expect(await world.assistant.call('memoryFacts', { past: true })).toEqual([]);

    expect(await world.assistant.call('editorsShow', { session: 'acp:shed' })).toBeNull();
    expect(await world.assistant.call('editorsShow', { session: 'acp:garden' })).toMatchObject({
      folder: '/srv/garden',
    });

    const memory = await readFile(join(world.workspace, 'memory', 'HISTORY.md'), 'utf8');
    expect(memory).toBe('[2026-11-02 10:00] Talked of tea.\n');
    world.model.reply('Still here.');
    expect(await says(world, 'are you there?')).toBe('Still here.');
    const asked = JSON.stringify(world.model.requests.at(-1)?.body);
    expect(asked).not.toContain(CANARY);
    expect(asked).toContain('good day');
    expect(asked).toContain('[forgotten]');
    expect(await world.tape(SESSION)).not.toHaveLength(0);
  });

  test('is only looked for after a no, and where nothing mentions it that is said', async () => {
    await using world = await worldThatKnows();
    const before = await holders(world.home);
    const question = await says(world, `/memory forget ${CANARY} shed`);
    world.telegram.userSays(OWNER, `/deny ${codeIn(question)}`);
    await waitFor(() => chatOf(world).some((text) => text.startsWith('Nothing was erased')), { what: 'the reply' });
    expect(world.restarts()).toBe(0);
    await world.restart();
    expect(await holders(world.home)).toEqual(expect.arrayContaining(before.filter((path) => path !== 'state.db-wal')));
    expect(await says(world, '/memory forget wombat')).toContain('Nothing that I keep has all of these words');
    expect(await says(world, '/memory forget a b')).toContain('one of them with at least 3 letters');
  });

  test('stays in the files of the person and in backups, which are named', async () => {
    await using world = await worldThatKnows();
    await writeFile(join(world.workspace, 'diary.md'), `About ${CANARY}.\n`);
    await mkdir(join(world.home, 'backups'), { recursive: true });
    await writeFile(join(world.home, 'backups', 'assistant-2026-11-01.tar.gz'), '');
    const found = await world.assistant.call('memoryForget', { words: CANARY, erase: true });
    expect(found).toMatchObject({
      left: ['workspace/diary.md'],
      backups: ['assistant-2026-11-01.tar.gz'],
      state: 'restarts',
    });
    expect(found.shown).toContain('Your own files stay as they are: workspace/diary.md.');
    await world.restart();
    expect(await holders(world.home)).toEqual(['workspace/diary.md']);
  });

  test('is forgotten by a start that goes on where one was cut off', async () => {
    await using world = await worldThatKnows();
    await world.assistant.call('memoryForget', { words: CANARY, erase: true });
    await world.assistant[Symbol.asyncDispose]();
    const request = await readFile(join(world.home, 'forget.json'), 'utf8');
    await world.restart();
    await writeFile(join(world.home, 'forget.json'), request);
    await writeFile(join(world.home, 'terminal-history.jsonl'), `${CANARY}\n`);
    await world.restart();
    expect(await holders(world.home)).toEqual([]);
  });

  test('asked for by a command that is given again after a crash does not reach the model', async () => {
    await using world = await worldThatKnows();
    const asked = world.model.requests.length;
    expect(await says(world, '/memory forget [forgotten]')).toBe('It is forgotten.');
    expect(world.model.requests).toHaveLength(asked);
  });

  test('is asked for by an owner in a direct chat, and by nobody else', async () => {
    await using world = await startWorld({
      config: { channels: { telegram: { people: { '43': 'trusted' } } } },
      onRestart: () => {},
    });
    world.telegram.userSays(43, `/memory forget ${CANARY}`);
    await waitFor(() => chatOf(world, 43).length > 0, { what: 'the reply' });
    expect(chatOf(world, 43)[0]).not.toContain('Forget this for good');
  });
});
