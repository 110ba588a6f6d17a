import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { builtProgram } from './built-program.ts';
import type { FakeModel } from './fake-model.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { freePort } from './free-port.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

/** A gateway in a process of its own, which is killed and started again on the same home and port. */
export interface KilledGateway extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly model: FakeModel;
  readonly address: string;
  /** Starts it, and waits until it serves. */
  start(): Promise<void>;
  /** Kills it with SIGKILL, and waits until it is gone. */
  kill(): Promise<void>;
  /** The token that it made. */
  token(): Promise<string>;
}

export interface KilledGatewayOptions {
  /** A folder that is there and empty. @default a new one */
  readonly home?: string;
  /** Settings over its own. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Command lines that run in the home before the first start. */
  readonly before?: readonly (readonly string[])[];
}

/** Prepares a home with a model server of its own, and starts the gateway. */
export async function startKilledGateway(options: KilledGatewayOptions = {}): Promise<KilledGateway> {
  await using stack = new AsyncDisposableStack();
  const home = options.home ?? stack.use(await tempFolder()).path;
  const model = stack.use(await startFakeOpenAi());
  const port = await freePort();
  const address = `http://127.0.0.1:${port}`;
  const workspace = join(home, 'workspace');
  await mkdir(workspace);
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    gateway: { port },
    ...options.config,
  };
  await writeFile(join(home, 'config.json'), JSON.stringify(config));
  const program = await builtProgram();
  for (const words of options.before ?? []) {
    await promisify(execFile)(process.execPath, [program.launcher, ...words, '--home', home], {
      env: program.environment(),
    });
  }
  let child: ChildProcess | undefined;
  const kill = async (): Promise<void> => {
    const dying = child;
    child = undefined;
    if (dying === undefined || !dying.kill('SIGKILL')) return;
    await new Promise((resolve) => dying.once('exit', resolve));
  };
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [program.main, '--home', home, 'gateway'], {
      stdio: 'ignore',
      env: program.environment(),
    });
    await waitFor(async () => (await fetch(`${address}/health`)).ok, { what: 'the gateway' });
  };
  stack.defer(kill);
  await start();
  const owned = stack.move();
  return {
    home,
    workspace,
    model,
    address,
    start,
    kill,
    token: async () => (await readFile(join(home, 'gateway.token'), 'utf8')).trim(),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
