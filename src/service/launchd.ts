import { existsSync } from 'node:fs';
import { AppError } from '../core/util/errors.ts';
import type { Host } from './host.ts';
import { LABEL, type Places } from './places.ts';
import { plistText } from './plist.ts';
import { requireProgram, runProgram, type ProgramResult, type Variables } from './program.ts';
import type { Supervisor } from './supervisor.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';

/** Seconds that `launchctl` may take to stop the service; longer than the `ExitTimeOut` of the service. */
const STOP_SECONDS = 40;

/** Manages the service as a launchd agent of one person, on macOS. */
export function launchdSupervisor(
  places: Places,
  { host, env }: { readonly host: Host; readonly env: Variables },
): Supervisor {
  const domain = `gui/${host.uid}`;
  const target = `${domain}/${LABEL}`;
  const next = `Look at what happened in ${places.log}, and log in at the screen of this Mac if you are connected from elsewhere.`;
  const launchctl = (...args: readonly string[]): Promise<ProgramResult> =>
    runProgram('launchctl', args, { env, seconds: STOP_SECONDS });
  const require = async (...args: readonly string[]): Promise<void> => {
    await requireProgram('launchctl', args, { env, seconds: STOP_SECONDS, next });
  };
  const isLoaded = async (): Promise<boolean> => (await launchctl('print', target)).code === 0;
  const unload = async (): Promise<void> => {
    if (await isLoaded()) await require('bootout', target);
  };
  const load = (): Promise<void> => require('bootstrap', domain, places.unit);
  const requireInstalled = (): void => {
    if (existsSync(places.unit)) return;
    throw new AppError(
      'service-missing',
      `The service is not installed. Install it with: ${assistantCommand('service install')}`,
    );
  };

  return {
    places,
    text: () => plistText(places),
    prepare: async () => {
      await launchctl('version');
    },
    enable: async () => {
      await unload();
      await require('enable', target);
      await load();
      return [];
    },
    disable: unload,
    removed: async () => {},
    start: async () => {
      requireInstalled();
      if (await isLoaded()) await require('kickstart', target);
      else await load();
    },
    // An agent that is loaded is kept alive, so stopping it is unloading it until the next login.
    stop: async () => {
      requireInstalled();
      await unload();
    },
    restart: async () => {
      requireInstalled();
      if (await isLoaded()) await require('kickstart', '-k', target);
      else await load();
    },
    state: async () => {
      const { code, out } = await launchctl('print', target);
      const value = (name: string): string | undefined =>
        new RegExp(String.raw`^\s*${name} = (.+)$`, 'mu').exec(out)?.[1];
      const installed = existsSync(places.unit);
      const state = code === 0 ? (value('state') ?? 'unknown') : 'not loaded';
      return {
        installed,
        running: state === 'running',
        state,
        since: null,
        enabled: installed,
        linger: null,
        pid: value('pid') === undefined ? null : Number(value('pid')),
        says: null,
        home: places.home,
        unit: places.unit,
        kind: places.kind,
      };
    },
    logs: (follow) => ({ program: 'tail', args: ['-n', '200', ...(follow ? ['-F'] : []), places.log] }),
  };
}
