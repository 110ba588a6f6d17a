import { existsSync } from 'node:fs';
import type { HomePaths } from '../../core/config/home.ts';
import { openService } from '../../service/open-service.ts';
import { sleep } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import type { CliContext } from '../../core/cli/context.ts';

/** A start takes at most this long, milliseconds, with a migration of a large journal. */
const START_MS = 90_000;
/** What stays up this long, milliseconds, is taken as good. */
const WATCH_MS = 15_000;
const POLL_MS = 250;

interface Seen {
  readonly version: string;
  readonly pid: number;
}

/** Resolves when the gateway of a home has this version. Throws `upgrade-start` when that takes too long. */
export async function becomes(version: string, paths: HomePaths, context: CliContext): Promise<void> {
  const { clock } = context;
  const end = clock.monotonic() + START_MS;
  for (;;) {
    const seen = await look(paths, context);
    if (seen?.version === version) return;
    if (clock.monotonic() > end) {
      const what = seen === undefined ? 'nothing answered' : `version ${seen.version} answered`;
      throw new AppError('upgrade-start', `${what} for ${START_MS / 1_000} seconds`);
    }
    await sleep(clock, POLL_MS);
  }
}

/** Resolves when one process of this version answered for a while. Throws `upgrade-start` when it ended meanwhile. */
export async function staysUp(version: string, paths: HomePaths, context: CliContext): Promise<void> {
  const { clock } = context;
  const first = await look(paths, context);
  const end = clock.monotonic() + WATCH_MS;
  while (clock.monotonic() < end) {
    await sleep(clock, POLL_MS);
    const seen = await look(paths, context);
    if (seen?.version !== version || seen.pid !== first?.pid) {
      throw new AppError('upgrade-start', 'it ended soon after its start');
    }
  }
}

async function look(paths: HomePaths, context: CliContext): Promise<Seen | undefined> {
  try {
    await using assistant = await context.connect(paths.socket);
    return await assistant?.call('info', {});
  } catch {
    return undefined;
  }
}

/** Restarts the service of a home, if there is one and this person may. */
export async function restartService(home: string, context: CliContext): Promise<void> {
  try {
    const { env } = context;
    const wish = { system: false, home: undefined, usualHome: home, for: 'change' } as const;
    const { supervisor } = openService(wish, { host: context.host(), env });
    if (existsSync(supervisor.places.unit) && supervisor.places.home === home) await supervisor.restart();
  } catch {
    // systemd starts it again by itself where this person may not.
  }
}
