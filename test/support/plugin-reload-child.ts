/** A process of its own that changes a plugin so many times: `node --expose-gc plugin-reload-child.ts ROUNDS` prints what each cost. */
import { CHANGING, followVersions, putVersion, startWirePlatform } from './changing-plugin.ts';
import { runCommand } from './command-run.ts';
import { waitFor } from './wait.ts';
import { startWorld } from './world.ts';

/** What is loaded at the first uses does not count. */
const WARM = 10;

const rounds = Number(process.argv[2] ?? 10);
const versions = followVersions();
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

async function change(version: number): Promise<void> {
  await putVersion(world.home, version);
  const { code, out, err } = await runCommand(['plugins', 'add', CHANGING, '--yes'], world.home);
  if (code !== 0) throw new Error(`${out}\n${err}`);
  const { text } = await world.assistant.run('hi');
  if (!text.includes(`provider=${version}`)) throw new Error(text);
  await waitFor(() => wire.open === 1 && versions.ended.length === version);
}

async function heap(): Promise<number> {
  for (let n = 0; n < 3; n += 1) {
    await new Promise(setImmediate);
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

for (let version = 1; version <= WARM; version += 1) await change(version);
const before = await heap();
for (let version = WARM + 1; version <= WARM + rounds; version += 1) await change(version);
const bytes = Math.round(((await heap()) - before) / rounds);
process.stdout.write(JSON.stringify({ bytes }));
