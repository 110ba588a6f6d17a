import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const STRANGER = 77;
const NO_SANDBOX = { tools: { exec: { sandbox: 'off' } } };

async function say(world: World, text: string, chat: number): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

const telegram = (settings: object): { config: Record<string, unknown> } => ({
  config: { ...NO_SANDBOX, channels: { telegram: settings } },
});

const warnings = async (world: World): Promise<string> => (await world.assistant.call('info', {})).warnings.join('\n');

async function code(world: World): Promise<string> {
  const sent = await say(world, 'hello', STRANGER);
  return /this code: (?<code>\S{8})\./u.exec(sent)?.groups?.['code'] ?? '';
}

describe('a channel on which nobody is owner', () => {
  test.each([
    [['42', '43'], '["42"], with the id that is yours,'],
    [['42', '@ann'], '["42"],'],
  ])('says which line to set, at start, in /status and to whom it refuses something: %j', async (allowFrom, line) => {
    await using world = await startWorld(telegram({ allowFrom }));
    const sentence = `channels.telegram has no owner, so no one there may run commands or use the owner's chat commands: allowFrom has 2 entries and owners names no one. Set channels.telegram.owners to ${line} in ${join(world.home, 'config.json')}.`;
    expect(await warnings(world)).toContain(sentence);
    expect(await say(world, '/cron', OWNER)).toBe(`/cron is for the owner only. ${sentence}`);
    expect(await say(world, ',list_dir', OWNER)).toContain(sentence);
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'date' } }] }, 'No.');
    expect(await say(world, 'run date', OWNER)).toBe('No.');
    expect(JSON.stringify(world.model.requests.at(-1)?.body)).toContain(
      'exec is for the owner only. channels.telegram',
    );
    const terminal = await world.assistant.run('/status');
    expect(terminal.text).toContain(`⚠ ${sentence}`);
  });

  test.each([[{ allowFrom: ['42'] }], [{ allowFrom: ['42', '43'], owners: ['43'] }], [{ allowFrom: ['42', '*'] }]])(
    'is none where somebody is: %j',
    async (settings) => {
      await using world = await startWorld(telegram(settings));
      expect(await warnings(world)).not.toContain('has no owner');
    },
  );

  test('is one where only names are owners, and names are told of before anybody wrote', async () => {
    await using world = await startWorld(telegram({ allowFrom: [], owners: ['@ann'] }));
    expect(await warnings(world)).toContain(
      'channels.telegram lists @ann, which lets no one in: only numeric user ids do',
    );
    expect(await warnings(world)).toContain('channels.telegram has no owner');
  });

  test('tells nothing of its settings to guests, nor in groups', async () => {
    await using world = await startWorld(
      telegram({ allowFrom: ['42', '43', '*'], groups: { policy: 'open', allow: ['-100'], debounceMs: 0 } }),
    );
    expect(await say(world, '/cron', STRANGER)).toBe('/cron is for the owner only.');
    const command = { entities: [{ type: 'bot_command', offset: 0, length: 14 }], from: { id: OWNER } };
    world.telegram.userSays(-100, '/cron@test_bot', command);
    await waitFor(() => chatOf(world, -100).length === 1);
    expect(chatOf(world, -100)).toEqual(['/cron is for the owner only.']);
  });
});

test.each([
  [{ allowFrom: ['42', '*'] }, ['telegram:42, owner', 'telegram:* everybody, guest']],
  [{ allowFrom: ['42', '43'], owners: ['42'] }, ['telegram:42, owner', 'telegram:43, trusted']],
])('/pair lists whom the configuration lets in: %j', async (settings, people) => {
  await using world = await startWorld(telegram(settings));
  expect(await say(world, '/pair', OWNER)).toBe(people.map((one) => `• ${one}, by the configuration`).join('\n'));
});

describe('an owner by pairing', () => {
  test('is made on the command line, may do what owners may, also after a restart, and is in the audit', async () => {
    await using world = await startWorld(telegram({ allowFrom: [] }));
    expect(await warnings(world)).toContain(
      'Write to it there, then run npm run assistant -- pair approve CODE --owner with the code that it answers.',
    );
    const given = await code(world);
    expect(await world.assistant.call('pairList', {})).toMatchObject({ hasOwner: false });
    const approved = await world.assistant.call('pairApprove', { code: given, role: 'owner' });
    expect(approved).toMatchObject({ id: '77', role: 'owner', may: expect.stringContaining('everything') });
    await waitFor(() => chatOf(world, STRANGER).length === 2);
    expect(await warnings(world)).not.toContain('has no owner');
    expect(await say(world, '/cron', STRANGER)).not.toContain('for the owner only');
    await world.restart();
    expect(await say(world, '/cron', STRANGER)).not.toContain('for the owner only');
    expect(await say(world, '/pair', STRANGER)).toMatch(/telegram:77 Person, owner, since/u);
    expect(await readFile(join(world.home, 'audit.jsonl'), 'utf8')).toContain(`pair approve ${given} as owner`);
  });

  test('can be made of somebody who is trusted, and unmade, without a restart', async () => {
    await using world = await startWorld(telegram({ allowFrom: ['42'] }));
    expect(await say(world, `/pair ${await code(world)}`, OWNER)).toContain('as a trusted person.');
    await waitFor(() => chatOf(world, STRANGER).length === 2);
    expect(await say(world, '/cron', STRANGER)).toBe('/cron is for the owner only.');
    expect(await say(world, '/pair telegram:77 owner', OWNER)).toContain('can write to me now, as an owner.');
    expect(await say(world, '/cron', STRANGER)).not.toContain('for the owner only');
    expect(await say(world, '/pair telegram:77 trusted', OWNER)).toContain('as a trusted person.');
    expect(await say(world, '/cron', STRANGER)).toBe('/cron is for the owner only.');
    expect(await say(world, '/pair telegram:42 owner', OWNER)).toContain('has access through the configuration');
    expect(await say(world, '/pair telegram:99 owner', OWNER)).toContain('was not paired with a code');
  });

  test('whose removal leaves nobody is told of at once', async () => {
    await using world = await startWorld(telegram({ allowFrom: [] }));
    await world.assistant.call('pairApprove', { code: await code(world), role: 'owner' });
    const removed = await world.assistant.call('pairRemove', { person: 'telegram:77' });
    expect(removed.ownerless).toContain('channels.telegram has no owner');
    expect(await warnings(world)).toContain('channels.telegram has no owner');
  });
});
