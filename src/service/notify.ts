import { AppError, errorMessage } from '../core/util/errors.ts';
import { runProgram } from './program.ts';

/** A state that is reported to systemd: `READY=1`, `STATUS=…`, `WATCHDOG=1` and so on, see sd_notify(3). */
export type Notice = `${string}=${string}`;

/** Reports the state of this process to systemd. */
export interface Notifier {
  /** Sends notices, after those that were sent before. Never rejects; the first failure goes to `onFailure`. */
  send(...notices: readonly Notice[]): Promise<void>;
  /** systemd kills this process if it gets no `WATCHDOG=1` within this time, ms; null: it does not watch this process. */
  readonly watchdogMs: number | null;
}

/** Deadline of `systemd-notify`, which itself waits for systemd for 5 seconds at most. */
const SECONDS = 8;

export interface NotifierOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  /** Called once, with a sentence for people, when a notice cannot be sent. */
  readonly onFailure: (sentence: string) => void;
}

/**
 * Opens the notifier; undefined if systemd did not start this process (no `NOTIFY_SOCKET`). Node cannot open a datagram
 * socket of a path, so each notice is one run of `systemd-notify`, which also knows abstract names (`@…`).
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
