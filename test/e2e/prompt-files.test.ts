import fs from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Step } from '../support/model-script.ts';
import { startWorld, type World } from '../support/world.ts';

const FILES = ['AGENTS.md', 'SOUL.md', 'USER.md', 'TOOLS.md', 'MEMORY.md'];

/** Counts how often each file of the prompt is looked at, until disposed of. */
function countLooks(): Disposable & { readonly taken: () => Readonly<Record<string, number>> } {
  const { statSync } = fs;
  let looks: Record<string, number> = {};
  const counting = (...[path, options]: Parameters<typeof statSync>): unknown => {
    const name = basename(String(path));
    if (FILES.includes(name)) looks[name] = (looks[name] ?? 0) + 1;
    return statSync(path, options);
  };
  const put = (into: unknown): void => {
    Object.assign(fs, { statSync: into });
    syncBuiltinESMExports();
  };
  put(counting);
  return {
    taken: () => {
      const found = looks;
      looks = {};
      return found;
    },
    [Symbol.dispose]: () => put(statSync),
  };
}

/** The system prompt of the newest request. */
const newestSystem = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body);

test('in a turn of several steps each file of the prompt is looked at once; what a person changed in one counts from the next turn on', async () => {
  await using world = await startWorld();
  const steps = ['one', 'two', 'three'].map((path) => ({ calls: [{ name: 'read_file', arguments: { path } }] }));
  let left: Step[] = [];
  world.model.setHandler(() => left.shift() ?? 'Done.');
  const turn = async (): Promise<void> => {
    left = [...steps];
    await world.assistant.run('Look at three files.');
    expect(left).toEqual([]);
  };
  await turn();
  using looks = countLooks();
  await turn();
  const once = Object.fromEntries(FILES.map((name) => [name, 1]));
  expect(looks.taken()).toEqual(once);
  expect(newestSystem(world)).not.toContain('Speaks like a sailor');
  await writeFile(join(world.workspace, 'SOUL.md'), 'Speaks like a sailor.');
  await turn();
  expect(looks.taken()).toEqual(once);
  expect(newestSystem(world)).toContain('Speaks like a sailor');
});
