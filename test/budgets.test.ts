import { describe, expect, test, vi } from 'vitest';
import { budgets, linesByFolder } from '../scripts/budgets.ts';
import { ToolRegistry } from '../src/core/tools/registry/registry.ts';
import { watchExecuted } from './support/executed-files.ts';
import { waitFor } from './support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from './support/world.ts';

/** Files that may be executed on the way of each: they only fall. A command that takes longer than usual is watched by some more. */
const FILES = { hi: 214, exec: 104, read_file: 56 };
/** Lines that a folder may lack before its budget has to follow. */
const SLACK = 200;

describe('the budgets of docs/architecture.md', () => {
  const lines = linesByFolder('src');

  test('are kept by each folder', () => {
    const over = [...lines].filter(([folder, count]) => count > (budgets().get(folder) ?? 0));
    expect(over).toEqual([]);
  });

  test('fall with the lines: node scripts/budgets.ts', () => {
    const loose = [...budgets()].filter(([folder, budget]) => (lines.get(folder) ?? 0) < budget - SLACK);
    expect(loose).toEqual([]);
  });
});

/** What the turn of a message executes, once everything that it loads is there. */
async function turnOf(world: World, text: string): Promise<void> {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}` });
}

test('a message, a command and a file that is read pass no more files than they may', async () => {
  await using world = await startWorld({ config: { tools: { exec: { mode: 'full' } } } });
  using executed = watchExecuted();
  const seen = new Map<string, ReadonlySet<string>>();
  // What timers of the assistant run meanwhile is not there each time.
  const narrow = (path: string): void => {
    const now = new Set(executed.look());
    seen.set(path, seen.get(path)?.intersection(now) ?? now);
  };
  // oxlint-disable-next-line typescript/unbound-method -- it is called on the registry again
  const { run } = ToolRegistry.prototype;
  using _spy = vi.spyOn(ToolRegistry.prototype, 'run').mockImplementation(async function (this: ToolRegistry, ...call) {
    executed.look();
    const result = await run.apply(this, call);
    const { name } = call[0];
    if (name === 'exec' || name === 'read_file') narrow(name);
    return result;
  });
  // The first loads modules.
  for (let time = 0; time < 5; time += 1) {
    world.model.reply('Hello.');
    executed.look();
    await turnOf(world, 'hi');
    if (time > 0) narrow('hi');
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo 1' } }] });
    world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'AGENTS.md' } }] }, 'Done.');
    await turnOf(world, 'work');
  }
  const counts = Object.fromEntries(Array.from(seen, ([path, files]) => [path, files.size]));
  expect(Object.entries(counts).filter(([path, count]) => count > FILES[path as keyof typeof FILES])).toEqual([]);
  expect(Object.keys(counts).toSorted()).toEqual(Object.keys(FILES).toSorted());
});
