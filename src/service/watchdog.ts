import { deadline, raceAbort, type Clock } from '../core/util/clock.ts';
import { errorMessage } from '../core/util/errors.ts';
import type { Notifier } from './notify.ts';

/** How systemd hears of this process, from its start to its end. */
export interface Watchdog extends Disposable {
  /** It is ready; `alive` resolves while it works, and is asked before each sign of life from now on. */
  ready(status: string, alive: () => Promise<unknown>): Promise<void>;
  /** It ends, and the service with it. */
  stopping(): Promise<void>;
  /** It ends and begins anew under the same process id. */
  restarting(): Promise<void>;
}

export interface ServiceWatchdogOptions {
  readonly notifier: Notifier | undefined;
  readonly clock: Clock;
  /** Told why a sign of life was left out. */
  readonly onSilence: (sentence: string) => void;
}

/** Between two signs of life during the start, milliseconds. */
const START_MS = 20_000;
/** A start may take this much longer from each sign of life on: a full disk is waited for. Microseconds. */
const START_EXTENSION = 90_000_000;

const NOTHING: Watchdog = {
  ready: async () => {},
  stopping: async () => {},
  restarting: async () => {},
  [Symbol.dispose]: () => {},
};

/**
 * Gives systemd signs of life until disposed of, three in the time of its watchdog. They come from the event loop, so
 * they end when it hangs; after `ready` each waits for `alive`, so they end when that hangs too. What `alive` throws is
 * an answer. Does nothing without a notifier.
 */
export function startWatchdog({ notifier, clock, onSilence }: ServiceWatchdogOptions): Watchdog {
  if (notifier === undefined) return NOTHING;
  const everyMs = notifier.watchdogMs === null ? null : notifier.watchdogMs / 3;
  let timer: Disposable | undefined;
  let ended = false;
  const repeat = (ms: number, sign: () => Promise<void>): void => {
    timer?.[Symbol.dispose]();
    timer = clock.timer(ms, () => {
      void sign().then(() => {
        if (!ended) repeat(ms, sign);
      });
    });
  };
  const end = (): void => {
    ended = true;
    timer?.[Symbol.dispose]();
  };
  repeat(START_MS, () => notifier.send('WATCHDOG=1', `EXTEND_TIMEOUT_USEC=${START_EXTENSION}`));

  return {
    ready: async (status, alive) => {
      timer?.[Symbol.dispose]();
      if (everyMs !== null) {
        repeat(everyMs, async () => {
          const silence = await silenceOf(alive, { clock, withinMs: everyMs });
          if (ended) return;
          if (silence === null) await notifier.send('WATCHDOG=1');
          else onSilence(silence);
        });
      }
      await notifier.send('READY=1', `STATUS=${status}`, 'WATCHDOG=1');
    },
    stopping: async () => {
      end();
      await notifier.send('STOPPING=1', 'STATUS=Stopping');
    },
    restarting: async () => {
      end();
      await notifier.send('RELOADING=1', 'STATUS=Restarting', 'WATCHDOG=1');
    },
    [Symbol.dispose]: end,
  };
}

/** Why there is no sign of life; null: there is one. */
async function silenceOf(
  alive: () => Promise<unknown>,
  { clock, withinMs }: { readonly clock: Clock; readonly withinMs: number },
): Promise<string | null> {
  using waiting = deadline(clock, withinMs, 'an answer of the journal');
  try {
    await raceAbort(alive(), waiting.signal);
    return null;
  } catch {
    return waiting.signal.aborted ? errorMessage(waiting.signal.reason) : null;
  }
}
