import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openJournal, type Journal } from '../../src/core/journal/journal.ts';
import type { LandingResult, LandOptions, View } from '../../src/core/landing/contract.ts';
import { createLanding, type LandingOptions, type WorkspaceLanding } from '../../src/core/landing/landing.ts';
import { runEnclosed, type EnclosedProcess } from '../../src/core/security/enclosure/enclosure.ts';
import { createSandbox, type Sandbox } from '../../src/core/security/enclosure/sandbox.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';

export interface OnView {
  /** Standard output and error. */
  readonly text: string;
  readonly code: number | null;
  readonly view: View;
}

export interface LandingWorld extends AsyncDisposable {
  readonly home: string;
  readonly workspace: string;
  readonly journal: Journal;
  readonly sandbox: Sandbox;
  readonly landing: WorkspaceLanding;
  /** Starts a shell command on a view. */
  start(command: string, view: View): Promise<EnclosedProcess>;
  /** Runs one on a view of its own, which the world discards in the end. */
  on(command: string): Promise<OnView>;
  /** Lands what a view changed. */
  land(view: View, options?: Partial<LandOptions>): Promise<LandingResult>;
  /** Both; throws when the command fails. */
  run(command: string, options?: Partial<LandOptions>): Promise<LandingResult & { readonly text: string }>;
}

/** Lands without a question. */
const LANDS: Omit<LandOptions, 'signal'> = {
  judge: async () => ({ lands: true }),
  commit: () => {},
  busyFolders: () => [],
  session: 'chat',
  turn: 't1',
  callId: 'c1',
  command: 'a command',
};

/** A home with a journal, a sandbox and landings. `base`: where it's made; `home`: an existing one, which stays. */
export async function landingWorld({
  base = tmpdir(),
  home: given,
  workspace: place,
  ...options
}: Partial<LandingOptions> & { readonly base?: string } = {}): Promise<LandingWorld> {
  const home = given ?? (await realpath(await mkdtemp(join(base, 'assistant-test-'))));
  const workspace = place ?? join(home, 'workspace');
  await mkdir(workspace, { recursive: true });
  const newId = createIds(systemClock, systemRandom);
  const journal = await openJournal({ path: join(home, 'state.db'), backupPath: null, clock: systemClock, newId });
  newId.after(journal.newestId);
  const sandbox = createSandbox({
    protectedFolders: [],
    home,
    workspace,
    folder: join(home, 'sandbox'),
    readRoots: [],
    clock: systemClock,
    random: systemRandom,
  });
  const log = { info: () => {}, warn: () => {}, error: () => {} };
  const landing = createLanding({
    workspace,
    home,
    journal,
    sandbox,
    protectedPlaces: ['SOUL.md', 'memory', 'cron/jobs.json'],
    clock: systemClock,
    newId,
    log,
    ...options,
  });
  const views = new AsyncDisposableStack();
  const { signal } = new AbortController();
  const world: LandingWorld = {
    home,
    workspace,
    journal,
    sandbox,
    landing,
    async start(command, view) {
      const probe = await sandbox.probe();
      if (!probe.available) throw new Error(probe.reason);
      const mounts = view.over([{ path: workspace, as: 'write' }]);
      const environment = { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: '/tmp', GIT_OPTIONAL_LOCKS: '0' };
      const program = { command: ['/bin/bash', '-c', command], cwd: workspace, environment };
      const enclosure = { engine: probe.engine, mounts, network: false, view: view.mount };
      return runEnclosed(program, { ...enclosure, isCommand: true, clock: systemClock });
    },
    async on(command) {
      const view = views.use(await landing.open({ signal }));
      const child = await world.start(command, view);
      let text = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (bytes: Buffer) => (text += bytes.toString()));
      const { code } = await child.exit;
      return { text, code, view };
    },
    land: async (view, more = {}) => await view.land({ ...LANDS, signal, ...more }),
    async run(command, more) {
      const { text, code, view } = await world.on(command);
      if (code !== 0) throw new Error(`exit ${code}: ${text}`);
      return { ...(await world.land(view, more)), text };
    },
    async [Symbol.asyncDispose]() {
      await views.disposeAsync();
      await landing[Symbol.asyncDispose]();
      await sandbox[Symbol.asyncDispose]();
      journal[Symbol.dispose]();
      if (given === undefined) await rm(home, { recursive: true, force: true, maxRetries: 3 });
    },
  };
  return world;
}
