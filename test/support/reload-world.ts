import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { World } from './world.ts';

export type Settings = Record<string, Record<string, unknown>>;

/** Writes the `config.json` of a home as an editor does: another file in its place. */
export async function edit(home: string, change: (settings: Settings) => void): Promise<void> {
  const path = join(home, 'config.json');
  const settings = JSON.parse(await readFile(path, 'utf8')) as Settings;
  change(settings);
  await writeFile(`${path}.new`, JSON.stringify(settings, null, 2));
  await rename(`${path}.new`, path);
}

/** Edits and takes the change up; resolves with what changed, as in `agent.model: live`. */
export async function taken(world: World, change: (settings: Settings) => void): Promise<readonly string[]> {
  await edit(world.home, change);
  const { changes, refused } = await world.assistant.reload();
  expect(refused).toBeNull();
  return changes.map(({ path, effect }) => `${path}: ${effect}`);
}

/** A configuration with a mistake that differs with `n`: broken JSON, a wrong text, a wrong number, an unknown provider. */
export function wrongly(good: string, n: number): string {
  switch (n % 4) {
    case 0:
      return `${good.slice(0, -1)}, "agent": ${'['.repeat(n + 1)}`;
    case 1:
      return good.replace('{', `{\n"log": {"level": "${n}"},`);
    case 2:
      return good.replace('"agent":{', `"agent":{"maxIterations":-${n},`);
    default:
      return good.replace('openai/scripted-model', `nobody${n}/model`);
  }
}
