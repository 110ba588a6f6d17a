import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { BackgroundProcesses, type BackgroundOptions, type ProcessNews } from '../../src/extensions/exec/background.ts';
import { createExecTool, type ExecOptions } from '../../src/extensions/exec/exec.ts';
import { processTool } from '../../src/extensions/exec/process-tool.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from './temp.ts';
import { testToolContext, type TestCall } from './tool-context.ts';

export interface ProcessWorld extends AsyncDisposable {
  readonly workspace: string;
  readonly records: string;
  readonly processes: BackgroundProcesses;
  readonly registry: ToolRegistry;
  /** What sessions were told, oldest first. */
  readonly news: readonly ProcessNews[];
  /** Of whose news were taken back. */
  readonly withdrawn: readonly string[];
  /** Starts a command in the background; resolves with what the model reads. */
  start(command: string, params?: object, context?: Partial<TestCall>): Promise<ToolResult>;
  /** Calls the tool `process`. */
  call(params: object, context?: Partial<TestCall>): Promise<ToolResult>;
}

export interface ProcessWorldOptions {
  readonly exec?: Partial<ExecOptions>;
  readonly processes?: Partial<BackgroundOptions>;
}

/** `exec` and `process` with background processes of their own, without a sandbox unless one is given. */
export async function processWorld({
  exec = {},
  processes: changed = {},
}: ProcessWorldOptions = {}): Promise<ProcessWorld> {
  await using stack = new AsyncDisposableStack();
  const folder = await realpath(stack.use(await tempFolder()).path);
  const workspace = exec.workspace ?? join(folder, 'workspace');
  await mkdir(workspace, { recursive: true });
  const news: ProcessNews[] = [];
  const withdrawn: string[] = [];
  const records = join(folder, 'processes');
  const processes = stack.use(
    new BackgroundProcesses({
      outputs: (sessionKey) => join(folder, 'outputs', sessionKey),
      records,
      workspace,
      reaches: () => true,
      wake: async (told) => void news.push(told),
      withdraw: async ({ id }) => void withdrawn.push(id),
      redact: (text) => text.replaceAll('hunter2', '[redacted]'),
      clock: systemClock,
      random: systemRandom,
      log: silentLog,
      ...changed,
    }),
  );
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
    clock: systemClock,
    redact: (text) => text,
    maxOutput: 16_000,
  });
  registry.register(
    createExecTool({
      mode: 'full',
      timeoutSeconds: 20,
      sandbox: null,
      network: false,
      maxConcurrent: 4,
      workspace,
      environment: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LANG: 'C.UTF-8' },
      clock: systemClock,
      background: processes,
      ...exec,
    }),
  );
  registry.register(processTool({ processes, pageChars: 15_600, clock: systemClock }));
  const run = (name: string, params: object, context: Partial<TestCall>): Promise<ToolResult> =>
    registry.run(
      { name, arguments: JSON.stringify(params) },
      testToolContext({ workingDirectory: workspace, ...context }),
    );
  const owned = stack.move();
  return {
    workspace,
    records,
    processes,
    registry,
    news,
    withdrawn,
    start: (command, params = {}, context = {}) => run('exec', { command, background: true, ...params }, context),
    call: (params, context = {}) => run('process', params, context),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** The id in the result of a start. */
export function idOf({ metadata }: ToolResult): string {
  const id = metadata['process'];
  if (typeof id !== 'string') throw new Error('nothing was started');
  return id;
}
