/** A process of its own that runs one command: `node exec-memory-child.ts MODE COMMAND` prints what it cost as JSON. */
import { execWorld } from './exec-world.ts';

const [mode = 'full', command = 'true'] = process.argv.slice(2);
await using world = await execWorld(mode === 'full' ? 'full' : 'auto');
// What is loaded at the first use does not count.
await world.run('echo warm');
globalThis.gc?.();
const before = process.resourceUsage().maxRSS;
const { output, metadata, isError } = await world.run(command);
const grownBytes = (process.resourceUsage().maxRSS - before) * 1024;
process.stdout.write(
  JSON.stringify({ grownBytes, characters: output.length, bytes: metadata['bytes'], isError: isError === true }),
);
