import { enabledChannels } from '../core/config/channels.ts';
import { loadConfig } from '../core/config/load.ts';
import type { Config } from '../core/config/schema.ts';
import { speechStateOf } from '../core/program.ts';
import { probeSandbox } from '../core/security/enclosure/probe.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';
import { systemRandom } from '../core/util/random.ts';
import { isZone } from '../core/util/time-zone.ts';
import type { Choice } from '../core/setup/asker.ts';
import { chooseModel } from './choose-model.ts';
import { saveSettings, type Saved, type Setting } from '../core/setup/save.ts';
import { setupError, type Given, type SetupWorld } from '../core/setup/world.ts';

export { setUpChannel } from './channels.ts';
export { Cancelled, terminalAsker, type Choice } from '../core/setup/asker.ts';
export type { Given, SetupWorld } from '../core/setup/world.ts';

/** What one run of the set-up is about. */
export type SetupPart = 'all' | 'model' | 'zone' | 'channel' | 'nothing';

/** Everything the first time; later what the person chooses of it. Without a person everything. */
export async function choosePart({ program, paths, env, person }: SetupWorld, given: Given): Promise<SetupPart> {
  const { config } = await loadConfig({ program, home: paths.home, env });
  const { ofChannels, ...others } = given;
  const isGiven = [...Object.values(others), ...Object.values(ofChannels)].some(
    (value) => value !== undefined && value !== false,
  );
  if (person === null || isGiven || config.agent.model === 'auto') return 'all';
  const channels = Object.keys(enabledChannels({ config, program }));
  const where = channels.length === 0 ? '' : `, also on ${channels.join(', ')}`;
  const choices: readonly (Choice & { readonly value: SetupPart })[] = [
    { value: 'nothing', label: 'nothing more' },
    { value: 'channel', label: channels.length === 0 ? 'a chat platform' : 'another chat platform' },
    { value: 'model', label: 'the model or its key' },
    { value: 'zone', label: 'the time zone' },
  ];
  const question = `It is set up with ${config.agent.model}${where}. What do you want to set up?`;
  const chosen = await person.choose(question, choices, 'nothing');
  return choices.find(({ value }) => value === chosen)?.value ?? 'nothing';
}

/** Whether it has a chat platform that can be connected. */
export async function hasChannel({ program, paths, env }: SetupWorld): Promise<boolean> {
  const { config } = await loadConfig({ program, home: paths.home, env });
  return Object.keys(enabledChannels({ config, program })).length > 0;
}

/**
 * The way from nothing to an assistant that answers: model, key, time zone, or one `part` of it; one real call of the
 * model before anything is written. Existing values are what is offered first, and what a person wrote stays. Throws
 * `Cancelled` at Ctrl-C and an `AppError` where no one can be asked; nothing is written then.
 */
export async function setUp(world: SetupWorld, given: Given, part: SetupPart = 'all'): Promise<Saved> {
  const { program, paths, env } = world;
  const { config, exists } = await loadConfig({ program, home: paths.home, env });
  const asksModel = part === 'all' || part === 'model';
  const { ref, settings } = asksModel ? await modelOf(world, config, given) : { ref: config.agent.model, settings: [] };
  const asksZone = part === 'all' || part === 'zone';
  const zone = asksZone ? await chooseZone(world, config, given) : (config.agent.timezone ?? systemZone());
  const isZoneNew = zone !== (config.agent.timezone ?? (exists ? systemZone() : null));
  const all: Setting[] = [
    ...settings,
    ...(config.agent.model === ref ? [] : [{ path: ['agent', 'model'], value: ref }]),
    ...(isZoneNew ? [{ path: ['agent', 'timezone'], value: zone }] : []),
  ];
  return saveSettings(world, all);
}

async function modelOf(
  world: SetupWorld,
  config: Config,
  given: Given,
): Promise<{ readonly ref: string; readonly settings: readonly Setting[] }> {
  const { provider, model, settings } = await chooseModel(world, config, given);
  return { ref: world.program.presets.get(provider)?.isScripted === true ? 'auto' : `${provider}/${model}`, settings };
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

/** What becomes of voice messages and where recordings go, where that needed no setting; null: nothing is to be told. */
export async function voiceSentence({
  program,
  paths,
  env,
}: Pick<SetupWorld, 'program' | 'paths' | 'env'>): Promise<string | null> {
  const { config } = await loadConfig({ program, home: paths.home, env });
  const { voice, hears } = speechStateOf({ program, config });
  if (hears?.isAutomatic !== true) return null;
  return `Voice messages are ${voice}. To switch that off: ${assistantCommand('config set voice.provider null')}`;
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
