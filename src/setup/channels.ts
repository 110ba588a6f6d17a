import { enabledChannels } from '../core/config/channels.ts';
import { loadConfig } from '../core/config/load.ts';
import type { Choice } from '../core/setup/asker.ts';
import { saveSettings, type Saved, type Setting } from '../core/setup/save.ts';
import type { Given, SetupWorld } from '../core/setup/world.ts';

const NOTHING = '(nothing)';

/**
 * Adds a chat platform to a home that has its model: asks which, checks its token, makes the person its owner, saves,
 * and says a first message there. Undefined: none was wanted, or it did not come about. Throws `Cancelled` at Ctrl-C; nothing
 * of the platform is written then.
 */
export async function setUpChannel(world: SetupWorld, given: Given): Promise<Saved | undefined> {
  const { program, paths, env, tell } = world;
  const { config } = await loadConfig({ program, home: paths.home, env });
  const platform = await choosePlatform(world, Object.keys(enabledChannels({ config, program })), given);
  if (platform === undefined) return undefined;
  const before = Object.hasOwn(config.channels, platform) ? config.channels[platform] : undefined;
  const setup = world.kinds.find(({ kind }) => kind === platform)?.setup;
  const ready = setup === undefined ? null : await setup.prepare(world, before, given.ofChannels);
  if (ready === null) return undefined;
  const switchedOn: readonly Setting[] =
    before?.enabled === false ? [{ path: ['channels', platform, 'enabled'], value: true }] : [];
  const saved = await saveSettings(world, [...ready.settings, ...switchedOn]);
  if (saved.written.length === 0) return saved;
  const isThere = await ready.greet('This is your assistant. You are my owner here. I answer as soon as I am running.');
  if (isThere) tell.good('I wrote to you there.');
  else tell.say('I could not write to you there: write to the bot first, once it runs.');
  return saved;
}

async function choosePlatform(
  { person, env, kinds }: SetupWorld,
  configured: readonly string[],
  given: Given,
): Promise<string | undefined> {
  const all = kinds.flatMap(({ kind: name, setup }) => (setup === undefined ? [] : [{ name, ...setup }]));
  const named = all.find(({ options }) => Object.keys(options).some((key) => given.ofChannels[key] !== undefined));
  if (named !== undefined) return named.name;
  if (person === null) return undefined;
  const hint = (name: string, variable: string): Pick<Choice, 'hint'> => {
    if (env[variable] !== undefined) return { hint: `${variable} is set` };
    return configured.includes(name) ? { hint: 'is set up' } : {};
  };
  const choices: Choice[] = [
    { value: NOTHING, label: configured.length === 0 ? 'in this terminal only' : 'as it is' },
    ...all.map(({ name, title, variable }) => ({ value: name, label: title, ...hint(name, variable) })),
  ];
  const chosen = await person.choose('Where do you want to talk to it?', choices, NOTHING);
  return all.find(({ name }) => name === chosen)?.name;
}
