import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CHATS, homeOf, put, sayIn, startAgentsWorld } from '../../support/agents-world.ts';
import { runCommand } from '../../support/command-run.ts';
import { tempFolder } from '../../support/temp.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';

interface Found {
  readonly id: string;
  readonly state: string;
  readonly evidence: string;
}

const checksOf = async (world: World, prefix: string, ...words: readonly string[]): Promise<readonly Found[]> => {
  const { out } = await runCommand(['doctor', '--json', '--offline', ...words], world.home);
  return (JSON.parse(out) as { readonly checks: readonly Found[] }).checks.filter(({ id }) => id.startsWith(prefix));
};

/** What a bare "hi" of the owner costs: the whole request but what differs by place and time. */
async function requestOf(world: World, say: () => void): Promise<string> {
  world.model.setHandler(() => 'hello');
  const before = world.model.requests.length;
  say();
  const request = await waitFor(() => world.model.requests[before]);
  const { messages: _, model: __, ...rest } = request.body;
  return JSON.stringify([rest, request.view.system]).replaceAll(world.home, 'HOME');
}

describe.concurrent('several assistants at the command line', () => {
  test('status names each with its state and its chats; --agent names one of them', async () => {
    await using world = await startAgentsWorld();
    const status = await runCommand(['status'], world.home);
    expect(status.out).toMatch(/agent {5}kim: running, answers telegram:-1001\nagent {5}lou: running/u);
    const kims = await runCommand(['status', '--json', '--agent', 'kim'], world.home);
    expect(JSON.parse(kims.out)).toMatchObject({ running: true, home: homeOf(world, 'kim'), http: null });
    const nobody = await runCommand(['status', '--agent', 'mia'], world.home);
    expect([nobody.code, nobody.err]).toEqual([2, expect.stringContaining('none of the further assistants')]);
    const page = await runCommand(['page', '--agent', 'kim'], world.home);
    expect(page.err).toContain('The page shows the main assistant alone');
    const gateway = await runCommand(['gateway', '--agent', 'kim'], world.home);
    expect([gateway.code, gateway.err]).toEqual([1, expect.stringContaining('runs in the process of the main one')]);
  });

  test('a conversation at the terminal of one of them is its own', async () => {
    await using world = await startAgentsWorld();
    await writeFile(join(homeOf(world, 'kim'), 'workspace', 'SOUL.md'), 'You are <kim>.\n');
    world.model.setHandler(({ view }) => (view.system.includes('<kim>') ? 'by kim' : 'by main'));
    const asked = async (...words: readonly string[]): Promise<string> =>
      (await runCommand(['chat', '-m', 'hi', ...words], world.home)).out.trim();
    expect([await asked('--agent', 'kim'), await asked()]).toEqual(['by kim', 'by main']);
  });

  test('doctor checks each, and names a home that nobody uses', async () => {
    await using world = await startAgentsWorld({
      agents: {
        kim: { routes: ['telegram:1'], tools: { exec: { mode: 'full' } } },
        lou: { routes: ['discord'] },
        mia: { routes: ['telegram:2'], agent: { maxIterations: 'many' } },
        off: { enabled: false, routes: ['telegram:3'] },
        terminal: {},
      },
      furnish: async (home) => await put(homeOf({ home }, 'gone'), 'workspace/SOUL.md', 'I was here.'),
    });
    const found = await checksOf(world, 'agents.');
    expect(found.map(({ state, evidence }) => `${state}: ${evidence}`)).toEqual([
      expect.stringMatching(/^warning: Commands of the assistant "kim" run without a sandbox/u),
      expect.stringMatching(/^warning: The assistant "lou" has the route discord, and there is no such channel/u),
      expect.stringMatching(/^failed: The assistant "mia" cannot start: .*agent\.maxIterations/u),
      expect.stringMatching(/^note: The assistant "off" is switched off/u),
      expect.stringMatching(/^note: The assistant "terminal" has no routes/u),
      expect.stringMatching(/^note: There is a home of an assistant "gone" that is not configured/u),
    ]);
    expect((await checksOf(world, 'home.there', '--agent', 'kim'))[0]?.evidence).toContain(homeOf(world, 'kim'));
  });

  test('a mistake in agents is refused with its place', async () => {
    await using world = await startAgentsWorld();
    const path = join(world.home, 'config.json');
    const good = await readFile(path, 'utf8');
    const refusal = async (agents: unknown): Promise<string | null> => {
      await writeFile(path, JSON.stringify({ ...Object(JSON.parse(good)), agents }));
      return (await world.assistant.reload()).refused;
    };
    expect(await refusal({ '../up': {} })).toMatch(/agents/u);
    expect(await refusal({ main: {} })).toMatch(/that is not "main"/u);
    expect(await refusal({ Kim: {} })).toMatch(/small letters/u);
    expect(await refusal({ kim: { routes: ['web'] } })).toMatch(/agents\.kim\.routes/u);
    expect(await refusal({ kim: { routes: ['telegram:1'] }, lou: { routes: ['telegram:1'] } })).toMatch(
      /a route that "kim" does not have/u,
    );
  });

  test('a backup holds every home, and brings each back', async () => {
    await using world = await startAgentsWorld();
    world.model.setHandler(() => 'remembered');
    sayIn(world, CHATS.kim, 'remember this');
    await waitFor(() => chatOf(world, CHATS.kim).length === 1);
    await using folder = await tempFolder();
    const file = join(folder.path, 'all.tar.gz');
    expect((await runCommand(['backup', '--out', file], world.home)).code).toBe(0);
    await world.assistant.close();
    await rm(homeOf(world, 'kim'), { recursive: true });
    expect((await runCommand(['restore', file, '--yes'], world.home)).err).toBe('');
    await world.restart();
    // What was said is known: the same message is not answered again, and the tape goes on.
    const [last] = world.model.requests.slice(-1);
    sayIn(world, CHATS.kim, 'what was it?');
    await waitFor(() => world.model.requests.at(-1) !== last);
    expect(world.model.requests.at(-1)?.text).toContain('remember this');
  });
});

describe.concurrent('what several assistants cost', () => {
  test('the owner’s "hi" is sent to the model in the same bytes with others in the process, and without', async () => {
    await using alone = await startWorld();
    await using shared = await startAgentsWorld();
    const asked = async (world: World): Promise<string> =>
      await requestOf(world, () => void world.telegram.userSays(OWNER, 'hi'));
    expect(await asked(shared)).toBe(await asked(alone));
  });
});
