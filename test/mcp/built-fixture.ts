import { mkdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const SOURCE = fileURLToPath(new URL('fixture-server.ts', import.meta.url));
const BUILT = fileURLToPath(
  new URL('../../node_modules/.cache/assistant-test/mcp-fixture-server.mjs', import.meta.url),
);

/** The path of `fixture-server.ts` in one file, which starts in a third of the time: the SDK in it is of many files. */
export const FIXTURE_SERVER = await builtFixture();

async function builtFixture(): Promise<string> {
  await mkdir(dirname(BUILT), { recursive: true });
  const own = join(dirname(BUILT), `mcp-fixture-server.mjs.${process.pid}`);
  await build({ entryPoints: [SOURCE], outfile: own, bundle: true, minify: true, platform: 'node', format: 'esm' });
  // Other processes of the test run make the same; who reads one meanwhile has it whole.
  await rename(own, BUILT);
  return BUILT;
}
