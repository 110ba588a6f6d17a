import { PassThrough } from 'node:stream';
import { PROGRAM } from './extensions.ts';
import { run } from '../../src/cli/run.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { thisHost } from '../../src/service/host.ts';
import { systemClock } from '../../src/core/util/clock.ts';

export interface CommandRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs a command line in this process on a home, with everything real and nobody at the terminal. `env`: further variables. @default program the whole one */
export async function runCommand(
  words: readonly string[],
  home: string,
  env: Readonly<Record<string, string>> = {},
  program = PROGRAM,
): Promise<CommandRun> {
  const nothing = { [Symbol.dispose]: () => {} };
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let [out, err] = ['', ''];
  stdout.on('data', (chunk) => (out += String(chunk)));
  stderr.on('data', (chunk) => (err += String(chunk)));
  const code = await run(words, {
    program,
    stdin: new PassThrough().end(),
    stdout,
    stderr,
    env: { ASSISTANT_HOME: home, HOME: home, PATH: process.env['PATH'], NO_COLOR: '1', ...env },
    clock: systemClock,
    onSignal: () => nothing,
    onHangUp: () => nothing,
    suspend: () => {},
    onContinue: () => nothing,
    onStray: () => nothing,
    exitNow: () => {},
    host: thisHost,
    restart: () => {},
    connect: (path) => connectAssistant(path, systemClock),
    app: () => import('../../src/app.ts'),
  });
  return { code, out, err };
}
