import { loadConfig } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { probeSandbox } from '../security/sandbox/probe.ts';
import { systemRandom } from '../util/random.ts';
import { isZone } from '../util/time-zone.ts';
import { chooseModel } from './choose-model.ts';
import { saveSettings, type Saved, type Setting } from './save.ts';
import { setupError, type Given, type SetupWorld } from './world.ts';

export { setUpChannel } from './channels/channels.ts';
export { Cancelled, terminalAsker } from './asker.ts';
export type { Given, SetupWorld } from './world.ts';

/**
 * The way from nothing to an assistant that answers: model, key, time zone; one real call of the model before anything
 * is written. Existing values are what is offered first, and what a person wrote stays. Throws `Cancelled` at Ctrl-C
 * and an `AppError` where nobody can be asked; nothing is written then.
 */
export async function setUp(world: SetupWorld, given: Given): Promise<Saved> {
  const { paths, env } = world;
  const { config, exists } = await loadConfig({ home: paths.home, env });
  const { provider, model, settings } = await chooseModel(world, config, given);
  const ref = provider === 'demo' ? 'auto' : `${provider}/${model}`;
  const zone = await chooseZone(world, config, given);
  const isZoneNew = zone !== (config.agent.timezone ?? (exists ? systemZone() : null));
  const all: Setting[] = [
    ...settings,
    ...(config.agent.model === ref ? [] : [{ path: ['agent', 'model'], value: ref }]),
    ...(isZoneNew ? [{ path: ['agent', 'timezone'], value: zone }] : []),
  ];
  return saveSettings(paths, all);
}

async function chooseZone({ person }: SetupWorld, { agent }: Config, { timezone }: Given): Promise<string> {
  const problem = (zone: string): string | undefined =>
    isZone(zone) ? undefined : `“${zone}” is no time zone. Write it as in Europe/Vienna.`;
  if (timezone !== undefined) {
    const wrong = problem(timezone);
    if (wrong !== undefined) throw setupError(wrong);
    return timezone;
  }
  const first = agent.timezone ?? systemZone();
  return person === null ? first : person.text('Your time zone (Enter keeps it)', first, problem);
}

function systemZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Whether commands have a sandbox on this machine; where not, what changes that. One or two sentences. */
export async function sandboxSentence({ paths, clock }: Pick<SetupWorld, 'paths' | 'clock'>): Promise<string> {
  const probe = await probeSandbox({ folder: paths.sandbox, clock, random: systemRandom });
  if (probe.available) return 'Commands run in a sandbox.';
  const { reason, remedy } = probe;
  if (remedy === undefined) return `There is no sandbox, so each command needs your approval. ${reason}`;
  const asRoot = process.getuid?.() === 0 || !/^(?:apt|dnf|pacman|apk|zypper) /u.test(remedy) ? '' : 'sudo ';
  return `There is no sandbox, so each command needs your approval. To change that: ${asRoot}${remedy}`;
}
