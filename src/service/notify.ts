import { AppError, errorMessage } from '../util/errors.ts';
import { runProgram } from './program.ts';

/** What systemd is told: `READY=1`, `STATUS=…`, `WATCHDOG=1` and so on, sd_notify(3). */
export type Notice = `${string}=${string}`;

export interface Notifier {
  /** Tells systemd, in order with what was sent before. Never rejects; the first failure is told. */
  send(...notices: readonly Notice[]): Promise<void>;
  /** Milliseconds within which systemd waits for a sign of life; null: it does not watch this process. */
  readonly watchdogMs: number | null;
}

/** systemd-notify waits for the answer of systemd for 5 seconds at most. */
const SECONDS = 8;

export interface NotifierOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Told once, with a sentence, when nothing can be sent. */
  readonly onFailure: (sentence: string) => void;
}

/**
 * What tells systemd how this process is; undefined where systemd did not start it (no `NOTIFY_SOCKET`). Node opens no
 * datagram socket of a path, so each notice is one run of `systemd-notify`, which knows abstract names (`@…`) too.
 */
export function openNotifier({ env, pid, onFailure }: NotifierOptions): Notifier | undefined {
  const { NOTIFY_SOCKET: socket, WATCHDOG_USEC: watchdog, WATCHDOG_PID: watched } = env;
  if (socket === undefined) return undefined;
  const micros = watched === undefined || watched === String(pid) ? Number(watchdog) : Number.NaN;
  let hasFailed = false;
  const tell = async (notices: readonly Notice[]): Promise<void> => {
    try {
      const PATH = env['PATH'] ?? '/usr/bin:/bin';
      const ended = await runProgram('systemd-notify', notices, {
        env: { NOTIFY_SOCKET: socket, PATH },
        seconds: SECONDS,
      });
      if (ended.code !== 0) throw new AppError('notify-failed', `systemd-notify failed: ${ended.said}`);
    } catch (error) {
      if (!hasFailed) {
        onFailure(
          `The assistant cannot report its state to systemd, which may stop it for that: ${errorMessage(error)} Install the package systemd, which has systemd-notify.`,
        );
      }
      hasFailed = true;
    }
  };
  let last: Promise<void> = Promise.resolve();
  return {
    watchdogMs: Number.isFinite(micros) && micros > 0 ? micros / 1_000 : null,
    send: (...notices) => {
      last = last.then(() => tell(notices));
      return last;
    },
  };
}
