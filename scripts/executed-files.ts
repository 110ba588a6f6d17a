/**
 * Counts the files of `src` that run while a turn answers "hi", and between the registry's call and its result for an `exec`
 * and a `read_file`. `node scripts/executed-files.ts` prints the counts and the files. `--sandbox` runs the command in the
 * sandbox that the machine has, as the usual settings do; otherwise it runs without one.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { watchExecuted } from '../test/support/executed-files.ts';
import { waitFor } from '../test/support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../test/support/world.ts';
import { ToolRegistry } from '../src/core/tools/registry/registry.ts';

/** How often each is watched; the first time loads modules and isn't counted. */
const TIMES = 8;

/** The files by what was done: `hi`, `exec` and `read_file`. What timers of the assistant run meanwhile is left out. */
export async function executedFiles({ sandbox = false } = {}): Promise<ReadonlyMap<string, readonly string[]>> {
  await using world = await startWorld({ config: { tools: { exec: sandbox ? {} : { mode: 'full' } } } });
  await writeFile(join(world.workspace, 'notes.md'), 'one\ntwo\n');
  using executed = watchExecuted();
  const seen = new Map<string, ReadonlySet<string>>();
  let isWarm = false;
  const note = (what: string): void => {
    const now = new Set(executed.look());
    if (isWarm) seen.set(what, seen.get(what)?.intersection(now) ?? now);
  };
  // oxlint-disable-next-line typescript/unbound-method -- it is called on the registry again
  const { run } = ToolRegistry.prototype;
  ToolRegistry.prototype.run = async function (...given) {
    executed.look();
    const result = await run.apply(this, given);
    const { name } = given[0];
    if (name === 'exec' || name === 'read_file') note(name);
    if (result.isError === true) throw new Error(`${name}: ${result.output}`);
    return result;
  };
  try {
    for (let time = 0; time < TIMES; time += 1) {
      isWarm = time > 0;
      world.model.reply(`Hello ${time}.`);
      executed.look();
      await turnOf(world, 'hi', `Hello ${time}.`);
      note('hi');
      world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo 1' } }] });
      world.model.reply({ calls: [{ name: 'read_file', arguments: { path: 'notes.md' } }] }, `Done ${time}.`);
      await turnOf(world, 'work', `Done ${time}.`);
    }
  } finally {
    ToolRegistry.prototype.run = run;
  }
  return new Map(Array.from(seen, ([what, files]) => [what, [...files].toSorted()]));
}

/** The turn of a message, from the platform's update to the delivered answer. */
async function turnOf(world: World, text: string, answer: string): Promise<void> {
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).some((sent) => sent.includes(answer)), { what: answer });
}

if (import.meta.main) {
  for (const [what, files] of await executedFiles({ sandbox: process.argv.includes('--sandbox') })) {
    process.stdout.write(`${what}: ${files.length}\n${files.map((file) => `  ${file}\n`).join('')}\n`);
  }
}
