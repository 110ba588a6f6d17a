import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { processContext } from '../../src/cli/context.ts';
import { run } from '../../src/cli/run.ts';

// Runs command lines one after the other and prints what each of them said on stderr, and its exit code, as JSON.
const lines = z.array(z.array(z.string())).parse(JSON.parse(process.argv[2] ?? ''));
const results: { code: number; err: string }[] = [];
for (const line of lines) {
  const stderr = new PassThrough();
  const stdout = new PassThrough();
  stdout.resume();
  const code = await run(line, { ...processContext(), stdin: new PassThrough(), stdout, stderr });
  stderr.end();
  results.push({ code, err: await text(stderr) });
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
