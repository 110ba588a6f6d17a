import type { Readable, Writable } from 'node:stream';
import type {
  Assistant,
  AssistantSettings,
  exportSession,
  listSessions,
  moveHome,
  readSession,
  vacuumHome,
} from '../../app.ts';
import { readEnvironment, type Environment } from '../config/environment.ts';
import type { Program } from '../program.ts';
import type { AssistantPort } from '../gateway/assistant-port.ts';
import { thisHost, type Host } from '../../service/host.ts';
import { systemClock, type Clock } from '../util/clock.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

type Terminal = { readonly isTTY?: boolean };
/** Its size, in characters. */
type Sized = { readonly columns?: number; readonly rows?: number };

/** What the commands need of `app.ts`; loaded only when an assistant is started in this process. */
export interface AppModule {
  readonly createAssistant: (settings: AssistantSettings) => Promise<Assistant>;
  readonly exportSession: typeof exportSession;
  readonly listSessions: typeof listSessions;
  readonly readSession: typeof readSession;
  readonly moveHome: typeof moveHome;
  readonly vacuumHome: typeof vacuumHome;
}

/** The world as the commands see it. */
export interface CliContext {
  readonly program: Program;
  readonly stdin: Readable & Terminal;
  readonly stdout: Writable & Terminal & Sized;
  readonly stderr: Writable & Terminal & Sized;
  readonly env: Environment;
  readonly clock: Clock;
  /** Calls back at each signal, instead of the process ending by it, until disposed of. */
  readonly onSignal: (listener: (signal: StopSignal) => void) => Disposable;
  /** Calls back at each SIGHUP, instead of the process ending by it, until disposed of. */
  readonly onHangUp: (listener: () => void) => Disposable;
  /** Stops this process and those that a shell started with it, as Ctrl-Z does; nothing where that is not possible. */
  readonly suspend: () => void;
  /** Calls back when this process goes on after it was stopped, until disposed of. */
  readonly onContinue: (listener: () => void) => Disposable;
  /** Calls back at each error that no one caught, until disposed of. */
  readonly onStray: (listener: (error: unknown, fatal: boolean) => void) => Disposable;
  readonly exitNow: (code: number) => void;
  /** The machine, for its services. */
  readonly host: () => Host;
  /** Begins this process anew under its own id, with `words` instead of those it was called with; does not return where that works. */
  readonly restart: (words?: readonly string[]) => void;
  readonly connect: (socketPath: string) => Promise<(AssistantPort & AsyncDisposable) | undefined>;
  readonly app: () => Promise<AppModule>;
}

/** The context of a real process. */
export function processContext(program: Program): CliContext {
  return {
    program,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    env: readEnvironment(),
    clock: systemClock,
    onSignal: (listener) => {
      const signals: readonly StopSignal[] = ['SIGINT', 'SIGTERM'];
      for (const signal of signals) process.on(signal, listener);
      return {
        [Symbol.dispose]: () => {
          for (const signal of signals) process.off(signal, listener);
        },
      };
    },
    onHangUp: (listener) => {
      process.on('SIGHUP', listener);
      return { [Symbol.dispose]: () => process.off('SIGHUP', listener) };
    },
    suspend: () => {
      if (process.platform !== 'win32') process.kill(0, 'SIGTSTP');
    },
    onContinue: (listener) => {
      process.on('SIGCONT', listener);
      return { [Symbol.dispose]: () => process.off('SIGCONT', listener) };
    },
    onStray: (listener) => {
      const onException = (error: unknown): void => listener(error, true);
      const onRejection = (error: unknown): void => listener(error, false);
      process.on('uncaughtException', onException);
      process.on('unhandledRejection', onRejection);
      return {
        [Symbol.dispose]: () => {
          process.off('uncaughtException', onException);
          process.off('unhandledRejection', onRejection);
        },
      };
    },
    exitNow: (code) => process.exit(code),
    host: thisHost,
    restart: (words) => {
      const [node = process.execPath, program = '', ...given] = process.argv;
      process.execve?.(process.execPath, [node, ...process.execArgv, program, ...(words ?? given)]);
    },
    connect: async (path) => {
      const { connectAssistant } = await import('../gateway/control.ts');
      return connectAssistant(path, systemClock);
    },
    app: () => import('../../app.ts'),
  };
}
