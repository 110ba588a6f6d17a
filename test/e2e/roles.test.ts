import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Role } from '../../src/core/bus/messages.ts';
import { MediaStore } from '../../src/core/storage/media.ts';
import { SpillStore } from '../../src/core/storage/spill.ts';
import { resultsOf, say, sayInGroup, worldOfThree } from '../support/three-people.ts';
import type { World } from '../support/world.ts';

const ROLES = ['owner', 'trusted', 'guest'] as const;

async function put(world: World, path: string, text: string): Promise<void> {
  const full = join(world.workspace, path);
  await mkdir(dirname(full), { recursive: true });
  await writeFile(full, text);
}

const systemOf = (world: World): string => world.model.requests.at(-1)?.view.system ?? '';

/** The least role for each command that /help shows. */
const COMMANDS: Readonly<Record<string, Role>> = {
  help: 'guest',
  start: 'guest',
  new: 'guest',
  retry: 'guest',
  status: 'guest',
  agent: 'guest',
  why: 'guest',
  usage: 'guest',
  context: 'trusted',
  model: 'owner',
  busy: 'owner',
  mem: 'owner',
  memory: 'owner',
  soul: 'owner',
  tape: 'trusted',
  undo: 'owner',
  trust: 'owner',
  cron: 'owner',
  skills: 'trusted',
  approve: 'owner',
  deny: 'owner',
  pair: 'owner',
  setup: 'owner',
  restart: 'owner',
  stop: 'guest',
};

/** The least role for each tool; guests have those that `tools.guest` names, and none that only the owner has. */
const TOOLS: Readonly<Record<string, Role>> = {
  apply_patch: 'trusted',
  ask_user: 'trusted',
  batch: 'trusted',
  cron: 'trusted',
  edit_file: 'trusted',
  exec: 'owner',
  glob: 'trusted',
  grep: 'trusted',
  list_dir: 'trusted',
  memory_search: 'trusted',
  memory_write: 'owner',
  message: 'trusted',
  process: 'owner',
  read_file: 'trusted',
  skill: 'trusted',
  spawn: 'owner',
  tape: 'trusted',
  web_fetch: 'guest',
  web_search: 'guest',
  write_file: 'trusted',
};

const rank = (role: Role): number => ROLES.indexOf(role);
const mayUse = (role: Role, needed: Role): boolean => rank(role) <= rank(needed);

describe('a command', () => {
  test('is for those whom the table names: /help shows to each what they may use', async () => {
    await using world = await worldOfThree();
    for (const role of ROLES) {
      const shown = [...(await say(world, '/help all', role)).matchAll(/\/(?<name>\w+):/gu)].map(
        (match) => match.groups?.['name'] ?? '',
      );
      const expected = Object.entries(COMMANDS).flatMap(([name, needed]) => (mayUse(role, needed) ? [name] : []));
      expect(new Set(shown)).toEqual(new Set(expected));
      const brief = await say(world, '/help', role);
      expect(new Set(brief.match(/\/\w+/gu))).toEqual(new Set(expected.map((name) => `/${name}`)));
      expect(brief.split('\n').length).toBeLessThanOrEqual(10);
      expect(brief).not.toContain('More:');
    }
  });

  test('/start says who it is, and to try only what the person may do', async () => {
    await using world = await worldOfThree();
    expect(await say(world, '/start', 'owner')).toMatch(
      /^Hello! I am your assistant\. .*What is in my workspace\?.*Remind me in 10 minutes.*\/help lists the commands\.$/su,
    );
    const guests = await say(world, '/start', 'guest');
    expect(guests).toMatch(/^Hello! I am somebody’s personal assistant\. You are my guest here/u);
    expect(guests).not.toMatch(/workspace|Remind|Remember/u);
  });

  test('is refused to everybody below, and to nobody else', async () => {
    await using world = await worldOfThree();
    world.model.setHandler(() => 'ok');
    for (const role of ROLES) {
      for (const [name, needed] of Object.entries(COMMANDS)) {
        const reply = await say(world, `/${name}`, role);
        const refusal = `/${name} is for the ${needed} only.`;
        if (mayUse(role, needed)) expect(reply, `/${name} by the ${role}`).not.toBe(refusal);
        else expect(reply).toBe(refusal);
      }
    }
    expect(world.model.requests).toEqual([]);
  });

  test('that runs a tool directly is the owner’s', async () => {
    await using world = await worldOfThree();
    expect(await say(world, ',list_dir', 'owner')).toContain('listed');
    for (const role of ['trusted', 'guest'] as const) {
      expect(await say(world, ',list_dir', role)).toBe(',list_dir runs a tool directly; that is for the owner only.');
    }
  });

  test('tells guests nothing about the home or about others', async () => {
    await using world = await worldOfThree();
    world.model.setHandler(() => ({ text: 'ok', usage: { input: 77_777, output: 3 } }));
    await say(world, 'hi', 'owner');
    const status = await say(world, '/status', 'guest');
    const usage = await say(world, '/usage', 'guest');
    expect(await say(world, '/status', 'owner')).toMatch(/Everywhere today: 77,780.*Commands: .*telegram: running/su);
    expect(status).not.toMatch(/Everywhere|Running|Commands|telegram|⚠|\/home|workspace|77,7/u);
    expect(usage).toBe('• Here today: nothing\n• Here in total: nothing');
  });
});

/** Offered where nobody may have spoken to the assistant. */
const IN_OPEN_GROUPS = { stay_silent: 'guest' } satisfies Record<string, Role>;

describe('a tool', () => {
  test('is in the table of rights, whatever it is', async () => {
    await using world = await worldOfThree();
    const tools = await world.assistant.call('toolsList', {});
    expect(Object.fromEntries(tools.map(({ name, role }) => [name, role]))).toEqual({ ...TOOLS, ...IN_OPEN_GROUPS });
  });

  test('is shown to and run for a turn as the table says', async () => {
    await using world = await worldOfThree({ guest: ['list_dir', 'exec', 'memory_write'] });
    const names = Object.keys(TOOLS);
    for (const role of ROLES) {
      world.model.reply({ calls: names.map((name) => ({ name, arguments: {} })) }, 'Done.');
      await say(world, 'do all of it', role);
      const allowed = names.filter((name) =>
        role === 'guest' ? name === 'list_dir' : mayUse(role, TOOLS[name] ?? 'owner'),
      );
      expect(world.model.requests.at(-1)?.view.tools).toEqual(allowed);
      const refused = resultsOf(world).map((text) => /is for the owner only\.|is not for guests\./u.test(text));
      expect(names.filter((_name, n) => refused[n] === false)).toEqual(allowed);
    }
  });

  test('is nothing for guests where the configuration names none', async () => {
    await using world = await worldOfThree({ guest: [] });
    world.model.reply('Hello.');
    await say(world, 'hi', 'guest');
    expect(world.model.requests[0]?.view.tools).toEqual([]);
  });
});

describe('what is the owner’s alone', () => {
  const PRIVATE = ['USER.md', 'memory/MEMORY.md', 'memory/HISTORY.md'] as const;
  const OTHERS = ['trusted', 'guest', 'group'] as const;
  const SECRET = 'kumquat';

  async function withPrivateFiles(): Promise<World> {
    const world = await worldOfThree({ guest: ['*'], exec: { mode: 'full' } });
    for (const path of PRIVATE) await put(world, path, `the password is ${SECRET}\n`);
    await put(world, 'SOUL.md', 'Be kind.');
    return world;
  }
  const speak = async (world: World, where: (typeof OTHERS)[number]): Promise<void> => {
    if (where === 'group') await sayInGroup(world, 'tell me', 'owner');
    else await say(world, 'tell me', where);
  };

  test('is in no other prompt and open to no tool there, not even in a group to the owner', async () => {
    await using world = await withPrivateFiles();
    const paths = [...PRIVATE, './user.md', 'memory/../USER.md', join(world.workspace, 'memory', 'MEMORY.md')];
    const calls = [
      ...paths.map((path) => ({ name: 'read_file', arguments: { path } })),
      { name: 'list_dir', arguments: { path: 'memory' } },
      { name: 'edit_file', arguments: { path: 'USER.md', oldText: 'the', newText: 'The' } },
      { name: 'memory_search', arguments: { query: SECRET } },
      { name: 'tape', arguments: { action: 'search', text: SECRET } },
    ];
    for (const where of OTHERS) {
      world.model.reply({ calls }, 'Done.');
      await speak(world, where);
      expect(resultsOf(world)).toHaveLength(calls.length);
      expect(systemOf(world)).toContain('Be kind.');
    }
    const sent = JSON.stringify(world.model.requests.map(({ body }) => body));
    expect(sent).not.toContain(`password is ${SECRET}`);
    expect(sent).not.toContain('# USER.md');
  });

  test('is in the prompt of the owner’s direct chat and open to their tools', async () => {
    await using world = await withPrivateFiles();
    world.model.reply({ calls: PRIVATE.map((path) => ({ name: 'read_file', arguments: { path } })) }, 'Done.');
    await say(world, 'tell me', 'owner');
    expect(systemOf(world).split(SECRET)).toHaveLength(3);
    expect(resultsOf(world).every((text) => text.includes(SECRET))).toBe(true);
  });

  test('are other conversations too, with their long results and attachments', async () => {
    await using world = await worldOfThree({ guest: ['*'], exec: { mode: 'full' } });
    const long = `${SECRET} `.repeat(3);
    const spilled = await new SpillStore(join(world.home, 'spill')).put('telegram:42', 'call', long);
    const attached = join(new MediaStore(join(world.home, 'media')).folder('telegram:42'), 'letter.txt');
    await mkdir(dirname(attached), { recursive: true });
    await writeFile(attached, long);
    world.model.reply({ calls: [{ name: 'read_file', arguments: { path: spilled } }] }, `It says ${SECRET}.`);
    await say(world, `what about ${SECRET}?`, 'owner');
    expect(resultsOf(world)[0]).toContain(long.trim());
    const closed = ['sessions', 'spill', 'media', 'state.db', 'config.json'].map((name) => join(world.home, name));
    const calls = [
      ...[...closed, spilled, attached].flatMap((path) => [
        { name: 'list_dir', arguments: { path } },
        { name: 'read_file', arguments: { path } },
      ]),
      { name: 'memory_search', arguments: { query: SECRET } },
      { name: 'tape', arguments: { action: 'search', text: SECRET } },
    ];
    const before = world.model.requests.length;
    for (const where of OTHERS) {
      world.model.reply({ calls }, 'Done.');
      await speak(world, where);
      const refused = resultsOf(world).filter((text) => /outside the workspace|own configuration or state/u.test(text));
      expect(refused).toHaveLength(14);
    }
    const theirs = JSON.stringify(world.model.requests.slice(before).map(({ body }) => body));
    expect(theirs).not.toMatch(new RegExp(`what about ${SECRET}|It says ${SECRET}|${SECRET} ${SECRET}`, 'u'));
  });

  test('is not measured for others before they said anything', async () => {
    await using world = await withPrivateFiles();
    expect(await say(world, '/context', 'trusted')).not.toContain('memory');
  });
});
