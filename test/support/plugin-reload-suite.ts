import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, vi } from 'vitest';
import * as z from 'zod';
import { MessageBus } from '../../src/core/bus/bus.ts';
import { apiOf } from './api-world.ts';
import { CHANGING, followVersions, putVersion, startWirePlatform, type Versions } from './changing-plugin.ts';
import { childEnvironment } from './child-environment.ts';
import { runCommand } from './command-run.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, startWorld, type World } from './world.ts';

/** What the first rounds leave is kept for good: caches, modules of the program. */
const WARM = 3;
/** Turns in each round. */
const TURNS = 11;

/** Puts another version and agrees to it, as an owner does. */
async function change(world: World, version: number): Promise<void> {
  await putVersion(world.home, version);
  const { code, out, err } = await runCommand(['plugins', 'add', CHANGING, '--yes'], world.home);
  expect({ code, out: out.split('\n').at(-2), err }).toEqual({
    code: 0,
    out: `Added ${CHANGING}. It is running.`,
    err: '',
  });
}

/** The one version that all parts of an answer are of. Fails when they are of several, or a part is missing. */
function versionOf(answer: string, parts: readonly string[]): number {
  const found = [...answer.matchAll(/(?<part>\w+)=(?<version>\d+)/gu)].map(({ groups }) => groups ?? {});
  expect(
    found.map(({ part }) => part),
    answer,
  ).toHaveLength(parts.length);
  expect(
    found.map(({ part }) => part),
    answer,
  ).toEqual(expect.arrayContaining([...parts]));
  const versions = new Set(found.map(({ version }) => version));
  expect([...versions], answer).toHaveLength(1);
  return Number(found[0]?.['version']);
}

const ANSWERED = ['provider', 'admit', 'layer', 'version', 'tool', 'after', 'render'];
const SENT = [...ANSWERED, 'dispatch'];

/** Changes a plugin so many times while messages are answered, and looks what becomes of these. */
export async function reloadUnderLoad(rounds: number): Promise<void> {
  const versions = followVersions();
  using listeners = countListeners();
  using warned = collectWarnings();
  await using wire = await startWirePlatform();
  await using world = await startWorld({
    config: {
      agent: { model: 'changing/any' },
      providers: { changing: {} },
      plugins: [CHANGING],
      channels: { letters: { kind: 'changing-wire', port: wire.port, allowFrom: ['ann'] } },
    },
    furnish: (home) => putVersion(home, 0),
  });
  const api = await apiOf(world);
  const said: number[] = [];
  const resources = (): Record<string, number> => counted(process.getActiveResourcesInfo());
  let before: Record<string, number> = {};
  for (let round = 1; round <= rounds + WARM; round += 1) {
    const asked = versions.asked.length;
    let open = (): void => {};
    versions.open = new Promise((resolve) => (open = resolve));
    const ask = (name: string): Promise<string> =>
      world.assistant.run(`hi from ${name} ${round}`, { session: name }).then(({ text }) => text);
    // These are in the middle of their answers when the code changes.
    const early = ['a', 'b', 'c'].map(ask);
    world.telegram.userSays(OWNER, `hello ${round}`);
    wire.says(`${round}`, `letter ${round}`);
    await waitFor(() => versions.asked.length - asked === 5, { what: `five turns of version ${round - 1}` });
    const changing = change(world, round);
    // These come while it changes.
    const late = ['d', 'e', 'f'].map(ask);
    await changing;
    const lately = ['g', 'h'].map(ask);
    open();
    for (const answer of await Promise.all(early)) expect(versionOf(answer, ANSWERED)).toBe(round - 1);
    for (const answer of await Promise.all(late)) expect([round - 1, round]).toContain(versionOf(answer, ANSWERED));
    for (const answer of await Promise.all(lately)) expect(versionOf(answer, ANSWERED)).toBe(round);
    await waitFor(() => chatOf(world).length === round && wire.sent.length === round, { what: 'both answers' });
    expect(versionOf(chatOf(world).at(-1) ?? '', SENT)).toBe(round - 1);
    expect(versionOf(wire.sent.at(-1) ?? '', [...SENT, 'shows'])).toBe(round - 1);
    said.push(round);

    const all = await world.assistant.run('all of it', { session: 'all' });
    expect(versionOf(all.text, [...ANSWERED, 'skill'])).toBe(round);
    expect((await world.assistant.run('/age')).text).toBe(`command=${round}`);
    expect(await (await api.ask(`/plugins/${CHANGING}/age`)).text()).toBe(`route=${round}`);
    await waitFor(() => wire.open === 1, { what: 'the old channel to be closed' });
    expect(wire.greeted.at(-1)).toBe(round);
    if (round !== WARM) continue;
    await quiet(versions, round);
    before = { ...resources(), listeners: listeners.count };
  }
  await quiet(versions, said.length);
  expect(versions.states.filter(([loaded, saved]) => loaded !== saved)).toEqual([]);
  expect(wire.greeted).toEqual([0, ...said]);
  await waitFor(() => isNoMore({ ...resources(), listeners: listeners.count }, before), {
    what: `no more than ${JSON.stringify(before)}`,
  });
  expect(warned.warnings).toEqual([]);
}

const cost = z.object({ bytes: z.number() });

/** Bytes of memory that one change costs for good, in a process that does nothing else; with a turn after each. */
export async function costOfReload(rounds: number): Promise<number> {
  const child = fileURLToPath(new URL('plugin-reload-child.ts', import.meta.url));
  const env = childEnvironment();
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', child, String(rounds)], { env });
  return cost.parse(JSON.parse(stdout)).bytes;
}

/** All turns of these rounds have ended. */
async function quiet({ ended }: Versions, rounds: number): Promise<void> {
  await waitFor(() => ended.length === TURNS * rounds, { what: 'the end of all turns' });
}

/** Counts those who listen to the live events of a bus. */
function countListeners(): Disposable & { readonly count: number } {
  let count = 0;
  // oxlint-disable-next-line typescript/unbound-method -- it is called on the bus that it belongs to
  const { listen } = MessageBus.prototype;
  const spy = vi.spyOn(MessageBus.prototype, 'listen').mockImplementation(function (this: MessageBus, listener) {
    const listening = listen.call(this, listener);
    count += 1;
    let isOver = false;
    return {
      [Symbol.dispose]: () => {
        if (!isOver) count -= 1;
        isOver = true;
        listening[Symbol.dispose]();
      },
    };
  });
  return {
    get count() {
      return count;
    },
    [Symbol.dispose]: () => spy.mockRestore(),
  };
}

/** Warnings of Node, such as that of too many listeners. */
function collectWarnings(): Disposable & { readonly warnings: readonly string[] } {
  const warnings: string[] = [];
  const hear = ({ message }: Error): void => void warnings.push(message);
  process.on('warning', hear);
  return { warnings, [Symbol.dispose]: () => void process.off('warning', hear) };
}

function counted(names: readonly string[]): Record<string, number> {
  const all: Record<string, number> = {};
  for (const name of names) all[name] = (all[name] ?? 0) + 1;
  return all;
}

function isNoMore(now: Record<string, number>, before: Record<string, number>): boolean {
  return Object.entries(now).every(([name, count]) => count <= (before[name] ?? 0) + 2);
}
