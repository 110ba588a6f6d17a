import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const STRANGER = 77;
const SECRET_TEXT = 'xylophone-in-the-cellar';

const codesTo = (world: World, chat: number): readonly string[] =>
  chatOf(world, chat).flatMap((text) => /this code: (?<code>\S{8})\./u.exec(text)?.groups?.['code'] ?? []);

/** Somebody who is not known writes; resolves with the code that they are sent. */
async function askForPairing(world: World, chat = STRANGER, text = SECRET_TEXT): Promise<string> {
  world.telegram.userSays(chat, text);
  return waitFor(() => codesTo(world, chat)[0], { what: 'a code' });
}

async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

/** Everything that came before is dealt with: the bot fetched it, and the owner had an answer after it. */
async function settled(world: World): Promise<void> {
  await say(world, '/usage');
}

/** All that is on disk in the home, as text; a file that is replaced meanwhile is read under its own name. */
async function onDisk(world: World): Promise<string> {
  const names = await readdir(world.home, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile());
  const texts = await Promise.all(
    files.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1').catch(() => '')),
  );
  return texts.join('\n');
}

describe('a stranger in a direct chat', () => {
  test('is sent a code once and otherwise met with silence; nothing of what they write is read or kept', async () => {
    await using world = await startWorld();
    await askForPairing(world);
    for (const text of ['/status', '/stop', '/help', '/pair list', ',exec command=id', `${SECRET_TEXT} again`]) {
      world.telegram.userSays(STRANGER, text);
    }
    const { messageId } = world.telegram.userSays(STRANGER, 'helo', { photo: [{ file_id: 'p', file_unique_id: 'p' }] });
    world.telegram.userEdits(STRANGER, messageId, SECRET_TEXT);
    await settled(world);
    expect(chatOf(world, STRANGER)).toHaveLength(1);
    const toThem = world.telegram.calls.filter(({ payload }) => String(payload['chat_id']) === String(STRANGER));
    expect(toThem.map(({ method }) => method)).toEqual(['sendMessage']);
    expect(world.telegram.calls.filter(({ method }) => method === 'getFile')).toEqual([]);
    expect(world.model.requests).toEqual([]);
    await world.restart();
    world.telegram.userSays(STRANGER, 'now?');
    await settled(world);
    expect(chatOf(world, STRANGER)).toHaveLength(1);
    expect(await onDisk(world)).not.toContain(SECRET_TEXT);
  });

  test('cannot let themselves in, nor read who is', async () => {
    await using world = await startWorld();
    const code = await askForPairing(world);
    world.telegram.userSays(STRANGER, `/pair ${code}`);
    await settled(world);
    expect(await world.assistant.call('pairList', {})).toMatchObject({ people: [], pending: [{ code }] });
  });

  test('cannot flood: four accounts at once get three codes', async () => {
    await using world = await startWorld();
    for (const chat of [71, 72, 73, 74]) world.telegram.userSays(chat, 'hi');
    await settled(world);
    await waitFor(() => [71, 72, 73].every((chat) => chatOf(world, chat).length === 1));
    expect(chatOf(world, 74)).toEqual([]);
  });
});

describe('in a group', () => {
  test('a stranger is met with silence, and gets no code', async () => {
    await using world = await startWorld();
    const mention = { entities: [{ type: 'mention', offset: 0, length: 9 }] };
    world.telegram.userSays(-100, `@test_bot ${SECRET_TEXT}`, { ...mention, from: { id: STRANGER } });
    world.telegram.userSays(-100, SECRET_TEXT, { from: { id: STRANGER } });
    await settled(world);
    expect([chatOf(world, -100), chatOf(world, STRANGER)]).toEqual([[], []]);
    expect(await world.assistant.call('pairList', {})).toMatchObject({ pending: [] });
    expect(world.model.requests).toEqual([]);
    expect(await onDisk(world)).not.toContain(SECRET_TEXT);
  });
});

describe('the owner', () => {
  test('lets somebody in with /pair CODE; they are told once and heard from their next message on', async () => {
    await using world = await startWorld();
    const code = await askForPairing(world);
    expect(await say(world, '/pair')).toMatch(
      new RegExp(`^.*telegram:77 Person is waiting with the code ${code}, until `, 'mu'),
    );
    expect(await say(world, `/pair ${code}`)).toBe(
      [
        'telegram:77 Person can write to me now, as a trusted person. A trusted person may use everything but exec, memory_write, process, spawn, /model, /busy, /mem, /memory, /soul, /undo, /trust, /approve, /deny, /pair, /setup, /restart, /cron.',
        'To make them an owner: /pair telegram:77 owner',
      ].join('\n'),
    );
    await waitFor(() => chatOf(world, STRANGER).length === 2);
    expect(chatOf(world, STRANGER)[1]).toMatch(/^You can write to me now\./u);
    expect(world.model.requests).toEqual([]);

    world.model.setHandler(() => 'Welcome.');
    expect(await say(world, 'hello', STRANGER)).toBe('Welcome.');
    expect(world.model.requests[0]?.view.tools).not.toContain('exec');
    expect(JSON.stringify(world.model.requests[0]?.body)).toContain('Person (trusted)');
    expect(JSON.stringify(world.model.requests[0]?.body)).not.toContain(SECRET_TEXT);
    expect(await say(world, '/pair', STRANGER)).toBe('/pair is for the owner only.');
    // The owner is who they were before there was anybody else.
    expect(await say(world, '/pair')).toMatch(/telegram:77 Person, trusted, since .*, by telegram:42$/u);
    await world.restart();
    expect(await say(world, 'still here', STRANGER)).toBe('Welcome.');
  });

  test('lets somebody in as a guest: with a guest’s tools alone, and with nothing of the owner’s memory', async () => {
    await using world = await startWorld({ config: { tools: { guest: ['web_search'] } } });
    const secret = 'kumquat-in-the-attic';
    await mkdir(join(world.home, 'workspace/memory'), { recursive: true });
    for (const file of ['USER.md', 'memory/MEMORY.md']) {
      await writeFile(join(world.home, 'workspace', file), `The password is ${secret}.\n`);
    }
    world.model.setHandler(() => 'Welcome.');
    await say(world, 'hello');
    expect(JSON.stringify(world.model.requests[0]?.body)).toContain(secret);
    const code = await askForPairing(world);
    expect(await say(world, `/pair ${code} guest`)).toBe(
      [
        'telegram:77 Person can write to me now, as a guest. A guest may use web_search (tools.guest), and sees nothing of your memory and files.',
        'To make them trusted: /pair telegram:77 trusted',
      ].join('\n'),
    );
    const heard = (): string => JSON.stringify(world.model.requests.at(-1)?.body);
    // They are told too, which would be taken for the answer to what they write next.
    await settled(world);
    for (const restarts of [false, true]) {
      if (restarts) await world.restart();
      expect(await say(world, 'hello', STRANGER)).toBe('Welcome.');
      expect(world.model.requests.at(-1)?.view.tools).toEqual(['web_search']);
      expect(heard()).toContain('Person (guest)');
      expect(heard()).not.toContain(secret);
      expect(await say(world, '/context', STRANGER)).toBe('/context is for the trusted only.');
    }
    expect(await say(world, '/pair')).toMatch(/telegram:77 Person, guest, since .*, by telegram:42$/u);
    expect(await say(world, '/pair telegram:77 trusted')).toContain('as a trusted person.');
    await say(world, 'hello', STRANGER);
    expect(world.model.requests.at(-1)?.view.tools).toContain('read_file');
    expect(await say(world, '/pair telegram:77 guest')).toContain('as a guest.');
    await say(world, 'hello', STRANGER);
    expect(world.model.requests.at(-1)?.view.tools).toEqual(['web_search']);
    expect(await say(world, '/pair remove telegram:77')).toContain('can no longer write to me.');
    const before = world.model.requests.length;
    world.telegram.userSays(STRANGER, 'still here?');
    await settled(world);
    expect(world.model.requests).toHaveLength(before);
  });

  test('shuts them out again with /pair remove, without a restart', async () => {
    await using world = await startWorld();
    await say(world, `/pair ${await askForPairing(world)}`);
    expect(await say(world, '/pair remove telegram:77')).toBe('telegram:77 Person can no longer write to me.');
    expect(await say(world, '/pair remove telegram:77')).toMatch(/was not paired with a code/u);
    expect(await say(world, '/pair remove telegram:42')).toMatch(/has access through the configuration/u);
    await waitFor(() => chatOf(world, STRANGER).length === 2);
    world.telegram.userSays(STRANGER, SECRET_TEXT);
    await waitFor(() => codesTo(world, STRANGER).length === 2);
    expect(world.model.requests).toEqual([]);
  });

  test('is told of people whom the configuration lets in as well, when it takes them out or gives them less', async () => {
    await using world = await startWorld();
    await say(world, `/pair ${await askForPairing(world)}`);
    await waitFor(() => chatOf(world, STRANGER).length === 2);
    const path = join(world.home, 'config.json');
    const { channels, ...rest } = JSON.parse(await readFile(path, 'utf8')) as { channels: { telegram: object } };
    const telegram = { ...channels.telegram, allowFrom: ['42', '77'], owners: ['42'] };
    await writeFile(path, JSON.stringify({ ...rest, channels: { telegram } }));
    await world.restart();
    expect(await say(world, '/pair telegram:77 guest')).toMatch(
      /^telegram:77 Person can write to me now, as a guest\. But channels\.telegram in the configuration gives them the role trusted, which counts\. A trusted person /u,
    );
    expect(await say(world, '/pair remove telegram:77')).toBe(
      'telegram:77 Person is no longer paired.\nBut the configuration still lets them in (trusted): take 77 out of channels.telegram.',
    );
    world.model.setHandler(() => 'Still here.');
    expect(await say(world, 'hello', STRANGER)).toBe('Still here.');
  });

  test('is told when codes were wrong, and after five of them that none is taken for 15 minutes', async () => {
    await using world = await startWorld();
    const code = await askForPairing(world);
    expect(await say(world, '/pair WRONGWRO')).toMatch(
      /^No code like that is waiting\..*After 4 more wrong codes, pairing is locked/su,
    );
    for (let n = 0; n < 3; n += 1) await say(world, '/pair WRONGWRO');
    expect(await say(world, '/pair WRONGWRO')).toMatch(/^5 codes were wrong, so pairing is locked for 15 minutes/u);
    expect(await say(world, `/pair ${code}`)).toMatch(/pairing is locked for 15 minutes/u);
    expect(await say(world, '/pair')).toContain('Too many wrong codes: pairing is locked until');
    expect(await world.assistant.call('pairList', {})).toMatchObject({ people: [] });
  });

  test('does not do it in a group, where others read along', async () => {
    await using world = await startWorld({ config: { channels: { telegram: { groups: { debounceMs: 0 } } } } });
    await askForPairing(world);
    const command = { entities: [{ type: 'bot_command', offset: 0, length: 14 }], from: { id: OWNER } };
    world.telegram.userSays(-100, '/pair@test_bot', command);
    await waitFor(() => chatOf(world, -100).length === 1);
    expect(chatOf(world, -100)).toEqual(['Other people can read this chat: write /pair in our direct chat instead.']);
  });

  test('sees the name of a stranger as a name, whatever it looks like', async () => {
    await using world = await startWorld();
    const from = { first_name: '[free `money`](https://evil.example)\u202E\u0007', last_name: 'x'.repeat(300) };
    world.telegram.userSays(STRANGER, 'hi', { from });
    await waitFor(() => codesTo(world, STRANGER)[0]);
    await say(world, '/pair');
    const html = String(world.telegram.calls.findLast(({ method }) => method === 'sendMessage')?.payload['text']);
    expect(html).not.toContain('<a ');
    expect(html).toContain("[free 'money'](https://evil.example)");
    expect(html).not.toContain('\u202E');
    expect(html.length).toBeLessThan(250);
  });
});

test('somebody let in on one bot is a stranger to another', async () => {
  await using world = await startWorld();
  await world.assistant.call('pairApprove', { code: await askForPairing(world) });
  const list = await world.assistant.call('pairList', {});
  expect(list.people).toMatchObject([{ channel: 'telegram', id: '77', name: 'Person', addedBy: 'terminal' }]);
  await expect(world.assistant.call('pairRemove', { person: 'telegram2:77' })).rejects.toMatchObject({
    code: 'pairing-person',
  });
});
