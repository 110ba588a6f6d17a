import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

async function putPackage(home: string, name: string, text: string): Promise<void> {
  const folder = join(home, 'plugins', name);
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name, type: 'module', assistant: { plugin: './index.js' } }),
  );
  await writeFile(join(folder, 'index.js'), text);
}

const COVER = `export default {
  name: 'cover', guard: true,
  hooks: { render: (_turn, text) => ({ type: 'replace', value: text.replaceAll('hunter2', '***') }) },
};`;

/** Opens while the file `go` beside it is not there. */
const SLOW = `import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
const place = (name) => new URL(name, import.meta.url);
export default {
  name: 'slow',
  open: async () => {
    writeFileSync(place('opening'), '');
    while (!existsSync(place('go'))) await setTimeout(20);
    return {};
  },
};`;

test('a guard that is added to a running assistant judges while other packages that are added with it still open', async () => {
  await using world = await startWorld({
    furnish: async (home) => {
      await putPackage(home, 'slow', SLOW);
      await putPackage(home, 'cover', COVER);
    },
  });
  const slow = (name: string): string => join(world.home, 'plugins', 'slow', name);
  world.model.setHandler(() => 'The password is hunter2.');
  const path = join(world.home, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...config, plugins: ['slow', 'cover'] }));
  await using _ = { [Symbol.asyncDispose]: () => writeFile(slow('go'), '') };
  await waitFor(() => existsSync(slow('opening')), { what: 'the slow package opens' });
  world.telegram.userSays(OWNER, 'tell me');
  await waitFor(() => chatOf(world).length > 0, { what: 'an answer' });
  expect(chatOf(world)).toEqual(['The password is ***.']);
});
