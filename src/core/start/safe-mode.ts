import type { Config } from '../config/schema.ts';
import type { Program } from '../program.ts';
import type { App } from '../app.ts';
import { errorMessage } from '../util/errors.ts';
import { failed, type Finding } from '../util/finding.ts';

/** A process that ran this long, ms, counts as healthy. */
const CALM_MS = 30 * 60_000;
/** Between two looks at whether nothing runs that a restart would interrupt. */
const IDLE_LOOK_MS = 60_000;

/** What a person is told while the program runs with no more than it needs to talk. */
function safeModeSentence({ recent }: { readonly recent: number }): string {
  return `I am in safe mode, because I was started ${recent} times within five minutes: I kept crashing. I answer here as always and send reminders with a fixed text; other scheduled jobs, the heartbeat, MCP servers and plugins are off. The log says why I crashed. /restart ends safe mode; otherwise I end it myself after 30 minutes without a crash.`;
}

/** The configuration as sections of extensions are in safe mode. What else does not run is left out where it starts. */
export function safeConfig(config: Config, { sections }: Pick<Program, 'sections'>): Config {
  const safe = sections.flatMap((one) =>
    one.inSafeMode === undefined ? [] : [[one.path, one.inSafeMode(one.of(config))]],
  );
  return { ...config, ...Object.fromEntries(safe) };
}

/** The same, for the list of findings. */
export function safeModeFinding(starts: { readonly recent: number }): Finding {
  return { id: 'gateway.starts', ...failed(safeModeSentence(starts)), facts: { mode: 'safe' } };
}

/** Tells the owner, once for a row of starts. Never rejects. */
export async function announceSafeMode({ log, plugins, journal: { starts }, notices }: App): Promise<void> {
  log.error('safe mode: schedule, heartbeat, MCP servers and plugins are off', { starts: starts.recent });
  const off = plugins.missingGuards.map(({ name }) => JSON.stringify(name)).join(', ');
  const guards = off === '' ? '' : ` Guards that are off: ${off}. What they should judge is held back.`;
  await notices.tell(`safe-mode:${starts.since}`, safeModeSentence(starts) + guards);
}

/**
 * After 30 minutes this start counts as a good one; in safe mode the program then starts anew, in order, as soon as no
 * turn is running. Disposing ends the waiting.
 */
export function whenCalm({ log, clock, safe, journal, turns, restart }: App): Disposable {
  let timer: Disposable;
  const look = (): void => {
    if (turns.running.length === 0) {
      log.info('safe mode: 30 minutes without a crash, restarting without it');
      restart?.();
    } else timer = clock.timer(IDLE_LOOK_MS, look);
  };
  timer = clock.timer(CALM_MS, () => {
    Promise.all([journal.starts.calm(), journal.turns.calm()])
      .then(() => (safe && restart !== undefined ? look() : undefined))
      .catch((error: unknown) => log.warn('start: not counted as calm', { reason: errorMessage(error) }));
  });
  return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
}
