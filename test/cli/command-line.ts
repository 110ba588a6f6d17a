import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { PROGRAM } from '../support/extensions.ts';
import type { Assistant, AssistantSettings } from '../../src/app.ts';
import { exportSession } from '../../src/core/session/session-export.ts';
import { listSessions, readSession } from '../../src/core/session/session-log.ts';
import { moveHome } from '../../src/host/homes/move-home.ts';
import { vacuumHome } from '../../src/core/stores/vacuum.ts';
import type { CliContext, StopSignal } from '../../src/core/cli/context.ts';
import { run } from '../../src/cli/run.ts';
import type { Host } from '../../src/service/host.ts';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import { silentLog, type Logger } from '../../src/core/util/log.ts';
import { waitFor } from '../support/wait.ts';
import { VirtualScreen } from './virtual-screen.ts';
import { FakeAssistant } from '../gateway/fake-assistant.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { say } from '../support/say.ts';

/** A command line in a world of its own: its terminal, its home, its assistant. */
export class CommandLine {
  readonly assistant = new FakeAssistant();
  readonly home: string;
  readonly stdin: PassThrough & { isTTY?: boolean } = new PassThrough();
  readonly stdout: PassThrough & { isTTY?: boolean } = new PassThrough();
  readonly stderr: PassThrough & { isTTY?: boolean } = new PassThrough();
  /** How assistants were started in this process. */
  readonly started: AssistantSettings[] = [];
  readonly logged: { message: string; fields: Record<string, unknown> }[] = [];
  readonly exits: number[] = [];
  readonly restarts: boolean[] = [];
  /** How often it was suspended. */
  suspensions = 0;
  /** Whether a gateway of this home is running. */
  running = false;
  env: Readonly<Record<string, string | undefined>> = {};
  startError: Error | undefined;
  /** The machine of this command line; its folders of the system are in `root`. */
  host: Host;
  /** Reaches the gateway that runs, instead of `running`. */
  connect: CliContext['connect'] = async () => (this.running ? this.assistant : undefined);
  /** What starts assistants in this process, instead of this class. */
  app: CliContext['app'] | undefined;
  /** @default the machine's */
  clock: Clock = systemClock;
  out = '';
  err = '';
  /** What a person sees, of a terminal. */
  readonly screen: VirtualScreen;
  readonly #continued = new Set<() => void>();
  readonly #signals = new Set<(signal: StopSignal) => void>();

  constructor(
    options: {
      readonly terminal?: boolean;
      readonly columns?: number;
      readonly rows?: number;
      readonly home?: string;
      readonly env?: Readonly<Record<string, string | undefined>>;
    } = {},
  ) {
    this.home = options.home ?? temporaryFolder();
    this.env = options.env ?? {};
    this.host = {
      platform: 'linux',
      uid: 1000,
      user: 'anna',
      userHome: join(this.home, '..'),
      node: process.execPath,
      program: fileURLToPath(new URL('../../src/launcher.cjs', import.meta.url)),
      root: '/',
    };
    this.screen = new VirtualScreen(this.stdout, options.columns ?? 100, options.rows ?? 40);
    if (options.terminal === true) {
      this.stdin.isTTY = true;
      this.stdout.isTTY = true;
      this.stderr.isTTY = true;
    }
    this.stdout.on('data', (chunk) => {
      this.out += String(chunk);
    });
    this.stderr.on('data', (chunk) => {
      this.err += String(chunk);
    });
  }

  /** Runs a command in this home; resolves with the exit code. */
  run(...argv: readonly string[]): Promise<number> {
    return run(argv, this.#context());
  }

  configure(settings: Readonly<Record<string, unknown>>): void {
    writeFileSync(join(this.home, 'config.json'), JSON.stringify(settings));
  }

  signal(signal: StopSignal): void {
    for (const listener of this.#signals) listener(signal);
  }

  /** It goes on after it was suspended. */
  goOn(): void {
    for (const listener of this.#continued) listener();
  }

  type(text: string): void {
    this.stdin.write(text);
  }

  /** Waits until the screen shows this. */
  async shows(wanted: string | RegExp): Promise<void> {
    const isShown = async (): Promise<boolean> => {
      const text = await this.screen.text();
      if (typeof wanted === 'string' ? text.includes(wanted) : wanted.test(text)) return true;
      throw new Error(text);
    };
    await waitFor(isShown, { what: `${String(wanted)} on the screen` });
  }

  #context(): CliContext {
    return {
      program: PROGRAM,
      stdin: this.stdin,
      stdout: this.stdout,
      stderr: this.stderr,
      env: { ASSISTANT_HOME: this.home, NO_COLOR: '1', ...this.env },
      clock: this.clock,
      onSignal: (listener) => {
        this.#signals.add(listener);
        return { [Symbol.dispose]: () => this.#signals.delete(listener) };
      },
      onHangUp: () => ({ [Symbol.dispose]: () => {} }),
      suspend: () => {
        this.suspensions += 1;
      },
      onContinue: (listener) => {
        this.#continued.add(listener);
        return { [Symbol.dispose]: () => this.#continued.delete(listener) };
      },
      onStray: () => ({ [Symbol.dispose]: () => {} }),
      host: () => this.host,
      restart: () => this.restarts.push(true),
      exitNow: (code) => this.exits.push(code),
      connect: (path) => this.connect(path),
      app:
        this.app ??
        (async () => ({
          createAssistant: async (settings) => this.#start(settings),
          listSessions,
          exportSession,
          readSession,
          moveHome,
          vacuumHome,
        })),
    };
  }

  #start(settings: AssistantSettings): Assistant {
    if (this.startError !== undefined) throw this.startError;
    this.started.push(settings);
    const { assistant } = this;
    return Object.assign(assistant, {
      reload: async () => ({ changes: [], refused: null }),
      markCrashed: () => {},
      alive: async () => {},
      log: this.#log(),
      run: async (text: string) => {
        const summary = await say(assistant, text);
        const place = { turnId: null, sessionKey: 'terminal:main', provider: null };
        return { ...summary, ...place, errorKind: null, media: [], toolCalls: [] };
      },
      close: async () => {},
      stream: () => {
        throw new Error('the command line does not stream');
      },
    });
  }

  #log(): Logger {
    const write = (message: string, fields: Record<string, unknown> = {}): void =>
      void this.logged.push({ message, fields });
    return { ...silentLog, info: write, warn: write, error: write };
  }
}
