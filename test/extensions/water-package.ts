import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fingerprintOf } from '../../src/core/plugins/fingerprint.ts';

/**
 * Puts `examples/water` into a home as a package that a person agreed to. Its module writes the file `imported` of the home whenever it
 * runs. Returns its folder.
 */
export async function putWater(home: string, settings: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const folder = join(home, 'plugins', 'water');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const facts = { name: 'water', version: '1.0.0', type: 'module', assistant: { plugin: './index.ts' } };
  await writeFile(join(folder, 'package.json'), JSON.stringify(facts));
  const source = await readFile(fileURLToPath(new URL('../../examples/water/index.ts', import.meta.url)), 'utf8');
  const traced = `import { writeFileSync } from 'node:fs';\nwriteFileSync(${JSON.stringify(join(home, 'imported'))}, '');\n`;
  await writeFile(join(folder, 'index.ts'), traced + source);
  await writeFile(join(home, 'plugin-pins.json'), JSON.stringify({ water: await fingerprintOf(folder) }));
  const path = join(home, 'config.json');
  const config: unknown = JSON.parse(await readFile(path, 'utf8').catch(() => '{}'));
  await writeFile(path, JSON.stringify({ ...Object(config), plugins: ['water'], ...settings }));
  return folder;
}
