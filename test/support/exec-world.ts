import { join } from 'node:path';
import { openJournal } from '../../src/core/journal/journal.ts';
import { Marks } from '../../src/core/files/marks.ts';
import { createLanding, type WorkspaceLanding } from '../../src/core/landing/landing.ts';
import { PROTECTED_PLACES } from '../../src/core/security/enclosure/sandbox.ts';
import { SpillStore } from '../../src/core/storage/spill.ts';
import { createExecTool, type ExecOptions } from '../../src/extensions/exec/exec.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { PATHS } from './extensions.ts';
import { sandboxWorld, type SandboxWorld } from './sandbox-world.ts';
import { testToolContext, type TestCall } from './tool-context.ts';

export interface ExecWorld extends AsyncDisposable {
  readonly workspace: string;
  readonly home: string;
  readonly sandbox: SandboxWorld['sandbox'];
  readonly landing: WorkspaceLanding;
  readonly marks: Marks;
  /** Runs a command through the registry, for the owner, as a turn does; whoever is asked says yes. */
  run(command: string, params?: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<ToolResult>;
}

export interface ExecWorldOptions extends Partial<
  Pick<ExecOptions, 'limits' | 'network' | 'allowHosts' | 'landing' | 'background' | 'maxConcurrent'>
> {
  /** Of the sandbox. */
  readonly enclosed?: Parameters<typeof sandboxWorld>[0];
  /** Of every turn. @default nothing */
  readonly taint?: TestCall['taint'];
  /** @default says yes */
  readonly approve?: TestCall['approve'];
}

/** The tool `exec` in a home of its own, with marks and views: in the sandbox with the mode `auto`, without it with `full`. */
export async function execWorld(mode: 'auto' | 'full', options: ExecWorldOptions = {}): Promise<ExecWorld> {
  const { enclosed, taint: _taint, approve: _approve, ...exec } = options;
  const world = await sandboxWorld(enclosed);
  const { home, workspace, sandbox } = world;
  await using opened = new AsyncDisposableStack();
  opened.use(world);
  const newId = createIds(systemClock, systemRandom);
  const journal = await openJournal({ path: join(home, 'state.db'), backupPath: null, clock: systemClock, newId });
  opened.use(journal);
  const marks = new Marks({ db: journal.db, clock: systemClock, workspace });
  const landing = opened.use(
    createLanding({
      workspace,
      home,
      journal,
      sandbox,
      clock: systemClock,
      newId,
      protectedPlaces: [...PROTECTED_PLACES, ...PATHS.folders],
      log: { info: () => {}, warn: () => {}, error: () => {} },
    }),
  );
  const spill = new SpillStore(join(home, 'spill'));
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
    clock: systemClock,
    redact: (text) => text,
    maxOutput: 16_000,
    spill: ({ sessionKey, id }, output) => spill.put(sessionKey, id, output),
  });
  registry.register(
    createExecTool({
      mode,
      timeoutSeconds: 60,
      sandbox: mode === 'full' ? null : sandbox,
      network: false,
      maxConcurrent: 4,
      workspace,
      home,
      environment: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LANG: 'C.UTF-8' },
      clock: systemClock,
      marks,
      landing,
      ...exec,
    }),
  );
  let calls = 0;
  const owned = opened.move();
  return {
    home,
    workspace,
    sandbox,
    landing,
    marks,
    run: async (command, params = {}, signal = new AbortController().signal) => {
      const call = { name: 'exec', arguments: JSON.stringify({ command, ...params }) };
      const context = testToolContext({
        sessionKey: 'terminal:main',
        turnId: 'turn',
        callId: `turn.${(calls += 1)}`,
        messageId: 'message',
        workingDirectory: workspace,
        signal,
        ...(options.taint === undefined ? {} : { taint: options.taint }),
        approve: options.approve ?? (async () => ({ approved: true })),
      });
      return await registry.run(call, context);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
