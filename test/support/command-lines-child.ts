import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import * as z from 'zod';
import { PROGRAM } from './extensions.ts';
import { processContext } from '../../src/core/cli/context.ts';
import { run } from '../../src/cli/run.ts';

// Runs command lines one after the other and prints what each of them said, and its exit code, as JSON.
const lines = z.array(z.array(z.string())).parse(JSON.parse(process.argv[2] ?? ''));
const results: { code: number; said: string }[] = [];
for (const line of lines) {
  const output = new PassThrough();
  const code = await run(line, {
    ...processContext(PROGRAM),
    stdin: new PassThrough(),
    stdout: output,
    stderr: output,
  });
  output.end();
  results.push({ code, said: await text(output) });
}
process.stdout.write(JSON.stringify(results), () => process.exit(0));
