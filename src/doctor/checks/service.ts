import { existsSync, readFileSync } from 'node:fs';
import { enabledChannels } from '../../core/config/channels.ts';
import { loadConfig, type LoadedConfig } from '../../core/config/load.ts';
import { keysOf } from '../../core/providers/endpoint.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const serviceChecks = checksOn('service', [
  ['service.running', 'the installed service runs, and starts by itself', running, LIVE],
  ['service.unit', 'its unit and its launcher are as an installation would write them now', unit],
  ['service.linger', 'it continues after you log out', linger, LIVE],
  ['service.keys', 'it has the keys and tokens that this terminal has', keys],
]);

async function running({ service }: Scene): Promise<readonly Found[]> {
  if (service === null) return [];
  try {
    const { installed, running: isRunning, state, enabled } = await service.state();
    if (!installed) return [warning('The unit is there, but systemd does not know it.', service.command('install'))];
    if (!isRunning) return [failed(`The service does not run: ${state}.`, service.command('start'))];
    if (!enabled) return [warning('The service runs, but does not start by itself.', service.command('install'))];
    return [ok(`The service is ${state}.`)];
  } catch (error) {
    return [note(`The service could not be asked: ${errorMessage(error).replace(/\.$/u, '')}.`)];
  }
}

function unit({ service }: Scene): readonly Found[] {
  if (service === null) return [];
  const { unit: path, launcher } = service.places;
  if (!existsSync(launcher))
    return [failed(`${launcher}, which the service starts, is missing.`, service.command('install'))];
  try {
    if (readFileSync(path, 'utf8') === service.text()) return [ok('The unit is as an installation would write it.')];
  } catch (error) {
    return [note(`${path} could not be read: ${errorMessage(error)}.`)];
  }
  return [warning(`${path} was written by another version, or changed by hand.`, service.command('install'))];
}

async function linger({ service, host }: Scene): Promise<readonly Found[]> {
  const state = await service?.state().catch(() => null);
  if (state == null || state.linger === null) return [];
  if (state.linger) return [ok('It continues after you log out.')];
  return [warning('The service ends when you log out.', `sudo loginctl enable-linger ${host.user}`)];
}

/** What works in this terminal and not in the service, for want of a variable. */
async function keys({ program, service, loaded, paths, ownEnv }: Scene): Promise<readonly Found[]> {
  if (service?.variables == null || loaded === null) return [];
  const { PATH, HOME } = ownEnv;
  const load = (env: Scene['env']): Promise<LoadedConfig | null> =>
    loadConfig({ program, home: paths.home, env }).catch(() => null);
  const [here, there] = await Promise.all([load(ownEnv), load({ PATH, HOME, ...service.variables })]);
  if (here === null || there === null) return [];
  const has = new Set(usable(there));
  const lacks = usable(here).filter((name) => !has.has(name));
  if (lacks.length === 0) return [ok('It has the keys and tokens that this terminal has.')];
  return [
    warning(
      `The service has no key or token for ${lacks.join(', ')}, but this terminal has.`,
      service.command('install --copy-keys'),
    ),
  ];
}

function usable(loaded: LoadedConfig): readonly string[] {
  const providers = Object.entries(loaded.config.providers).flatMap(([name, entry]) =>
    keysOf(entry).length > 0 ? [`providers.${name}`] : [],
  );
  return [...providers, ...Object.keys(enabledChannels(loaded)).map((name) => `channels.${name}`)];
}
