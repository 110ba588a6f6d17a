import { flagName } from '../core/cli/command.ts';
import { enabledChannels } from '../core/config/channels.ts';
import { loadConfig } from '../core/config/load.ts';
import type { ChannelSettings, ChannelSettingsKind } from '../core/config/schema/channels.ts';
import { Cancelled, type Choice } from '../core/setup/asker.ts';
import {
  ownerOption,
  setupOptions,
  tokenOption,
  type Bot,
  type BotFacts,
  type ChannelSetup,
  type Platform,
} from '../core/setup/platform.ts';
import { saveSettings, type Saved, type Setting } from '../core/setup/save.ts';
import type { Given, SetupWorld } from '../core/setup/world.ts';
import { deadline, sleep } from '../core/util/clock.ts';
import { AppError } from '../core/util/errors.ts';
import { systemRandom } from '../core/util/random.ts';

const NOTHING = '(nothing)';
const WORDS = 'This is your assistant. You are my owner here. I answer as soon as I am running.';

/** How long a person may take for a step on the platform, and how often it is looked whether the bot was invited. */
const PATIENCE_MS = 600_000;
const LOOK_MS = 1_500;

/** 32 letters and digits that no one mixes up. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const CODE_LENGTH = 8;

/** The exit code of a command line that lacks something. */
const MISSING = 2;

const OFFLINE = [
  { value: 'again', label: 'Try again' },
  { value: 'leave', label: 'Leave it out; nothing of it is written' },
] as const;

/** A kind of channel that can be set up. */
interface Kind {
  readonly kind: string;
  readonly config: ChannelSettingsKind;
  readonly setup: ChannelSetup;
}

/** One run of the script. */
interface Run extends Kind {
  readonly world: SetupWorld;
  readonly platform: Platform;
  readonly before: ChannelSettings | undefined;
  readonly given: Given['ofChannels'];
}

/**
 * Adds a chat platform to a home that has its model: asks which, checks its tokens, makes the person its owner, saves,
 * and says a first message there. Undefined: none was wanted, or it did not come about. Throws `Cancelled` at Ctrl-C; nothing
 * of the platform is written then.
 */
export async function setUpChannel(world: SetupWorld, given: Given): Promise<Saved | undefined> {
  const { program, paths, env, tell } = world;
  const { config } = await loadConfig({ program, home: paths.home, env });
  const chosen = await choosePlatform(world, Object.keys(enabledChannels({ config, program })), given);
  if (chosen === undefined) return undefined;
  const { kind } = chosen;
  const before = Object.hasOwn(config.channels, kind) ? config.channels[kind] : undefined;
  const run: Run = { ...chosen, world, before, given: given.ofChannels, platform: await chosen.setup.platform() };
  const ready = await prepare(run);
  if (ready === null) return undefined;
  const { bot, owner, settings } = ready;
  const switchedOn: readonly Setting[] =
    before?.enabled === false ? [{ path: ['channels', kind, 'enabled'], value: true }] : [];
  const saved = await saveSettings(world, [...settings, ...switchedOn]);
  if (saved.written.length === 0) return saved;
  const isThere =
    owner !== null &&
    (await run.platform.greet(bot, owner, WORDS).then(
      () => true,
      () => false,
    ));
  if (isThere) tell.good('I wrote to you there.');
  else tell.say('I could not write to you there: write to the bot first, once it runs.');
  return saved;
}

async function choosePlatform(
  { person, env, kinds }: SetupWorld,
  configured: readonly string[],
  given: Given,
): Promise<Kind | undefined> {
  const all = kinds.flatMap(({ kind, config, setup }) =>
    setup === undefined || config === undefined ? [] : [{ kind, config, setup }],
  );
  const named = all.find((one) => Object.keys(setupOptions(one)).some((key) => given.ofChannels[key] !== undefined));
  if (named !== undefined || person === null) return named;
  const hint = ({ kind, config: { variables, secrets } }: Kind): Pick<Choice, 'hint'> => {
    const variable = variables[secrets[0] ?? ''] ?? '';
    if (env[variable] !== undefined) return { hint: `${variable} is set` };
    return configured.includes(kind) ? { hint: 'is set up' } : {};
  };
  const choices: Choice[] = [
    { value: NOTHING, label: configured.length === 0 ? 'in this terminal only' : 'as it is' },
    ...all.map((one) => ({ value: one.kind, label: one.config.title, ...hint(one) })),
  ];
  const chosen = await person.choose('Where do you want to talk to it?', choices, NOTHING);
  return all.find(({ kind }) => kind === chosen);
}

interface Ready {
  readonly bot: Bot;
  /** Null: nobody yet. */
  readonly owner: string | null;
  readonly settings: readonly Setting[];
}

/** Tokens, owner and invitation. Null: the person leaves the platform out, or no code came. */
async function prepare(run: Run): Promise<Ready | null> {
  const { world, kind, setup, platform, before, given } = run;
  const { person, clock } = world;
  const named = given[ownerOption(kind)];
  if (named !== undefined && !setup.owner.form.test(named)) throw channelError(kind, setup.owner.problem);
  const keys = Object.keys(platform.tokens);
  if (person !== null && typeof before?.[keys[0] ?? ''] !== 'string') await platform.explain(person);
  let bot: Bot = { settings: before ?? {}, clock };
  let facts: BotFacts | undefined;
  const settings: Setting[] = [];
  for (const key of keys) {
    const token = await chooseToken(run, key, bot);
    if (token === null) return null;
    bot = token.bot;
    facts ??= token.facts;
    if (token.setting !== null) settings.push(token.setting);
  }
  const known = named ?? before?.owners[0] ?? impliedOwner(before);
  const owner = known ?? (await chooseOwner(run, bot, facts ?? { name: '' }));
  if (owner === undefined) return null;
  if (facts?.invitation !== undefined) await invite(run, bot, facts.invitation);
  return { bot, owner, settings: [...settings, ...(owner === null ? [] : ownerSettings(kind, before, owner))] };
}

/** A token that the platform took. */
interface Token {
  readonly bot: Bot;
  readonly facts: BotFacts;
  /** What is written so that it is found again; null: it is there already. */
  readonly setting: Setting | null;
}

/**
 * The token that is configured or in the environment, else one that is asked for until the platform takes it. Null: the
 * platform is not reached, and the person leaves it out.
 */
async function chooseToken(run: Run, key: string, { settings, clock }: Bot): Promise<Token | null> {
  const { world, kind, config, platform, before, given } = run;
  const { person, tell, env } = world;
  const { [key]: step } = platform.tokens;
  if (step === undefined) return null;
  const variable = config.variables[key] ?? '';
  const option = tokenOption(kind, key);
  const named = given[option];
  if (named !== undefined && !/^[A-Z_][A-Z0-9_]*$/u.test(named)) {
    const wrong = `${flagName(option)} takes the name of an environment variable such as ${variable}, not the token.`;
    throw channelError(kind, wrong);
  }
  if (named !== undefined && env[named] === undefined) {
    throw channelError(kind, `${named} is not set in the environment.`);
  }
  const path = ['channels', kind, key];
  const configured = before?.[key];
  let value = named === undefined && typeof configured === 'string' ? configured : (env[named ?? variable] ?? '');
  let setting: Setting | null =
    value === '' || value === configured ? null : { path, value: `\${${named ?? variable}}` };
  for (;;) {
    if (value === '') {
      if (person === null) {
        const missing = `A token is missing: give ${flagName(option)} NAME, the variable that holds it, or put it into ${variable}.`;
        throw channelError(kind, missing, { exitCode: MISSING });
      }
      value = await person.secret(step.question);
      setting = { path, name: variable, secret: value };
    }
    const bot = { settings: { ...settings, [key]: value }, clock };
    const checked = await step.check(bot);
    if (typeof checked !== 'string' && 'facts' in checked) {
      const { name } = checked.facts;
      tell.good(`${step.title} is right${name === '' ? '' : `: ${name}`}.`);
      return { bot, facts: await untilSwitchedOn(world, checked.facts, () => step.check(bot)), setting };
    }
    const isOffline = typeof checked !== 'string';
    const why = isOffline ? `${checked.offline} Check the network.` : checked;
    if (person === null) throw channelError(kind, why);
    tell.bad(why);
    if (!isOffline) value = '';
    else if ((await person.choose('What now?', OFFLINE, 'again')) !== 'again') return null;
  }
}

/** Says what is switched off there, until it is on or the person goes on without it. */
async function untilSwitchedOn(
  { person, tell }: SetupWorld,
  first: BotFacts,
  check: () => ReturnType<Platform['tokens'][string]['check']>,
): Promise<BotFacts> {
  let facts = first;
  while (facts.missing !== undefined) {
    tell.bad(facts.missing);
    if (person === null || !(await person.agree('Is it on now?'))) break;
    const again = await check();
    if (typeof again !== 'string' && 'facts' in again) facts = again.facts;
  }
  return facts;
}

/** Id of the owner. Null: there is no terminal to ask in. Undefined: the platform is left out. */
async function chooseOwner(run: Run, bot: Bot, { name, maker }: BotFacts): Promise<string | null | undefined> {
  const { world, kind, setup, platform } = run;
  const { person, tell } = world;
  const { where, owner } = setup;
  if (person === null) {
    const flag = flagName(ownerOption(kind));
    tell.say(`No one is owner ${where} yet: give ${flag} ID, or run this in a terminal.`);
    return null;
  }
  if (maker !== undefined && (await person.agree(`Are you ${maker.name}? Then you are its owner there.`))) {
    return maker.id;
  }
  const sender = platform.code === undefined ? undefined : await codeSender(run, { bot, name, ...platform.code });
  if (typeof sender === 'object') {
    const you = sender.name === '' ? 'You are' : `${sender.name}, you are`;
    tell.good(`${you} the owner ${where} (id ${sender.id}).`);
    return sender.id;
  }
  if (sender !== undefined) tell.bad(sender);
  if (platform.idQuestion === undefined) return undefined;
  return person.text(platform.idQuestion, '', (answer) => (owner.form.test(answer) ? undefined : owner.problem));
}

/** Who sent a code in a direct chat, which proves that the account is theirs; a string is why nobody did. */
async function codeSender(
  { world }: Run,
  { bot, name, send, sender, missed }: NonNullable<Platform['code']> & { readonly bot: Bot; readonly name: string },
) {
  const { tell, clock, signal } = world;
  const code = [...systemRandom.bytes(CODE_LENGTH)].map((byte) => LETTERS[byte % LETTERS.length]).join('');
  // Telegram's link sends `/start CODE`.
  const isCode = (text = ''): boolean =>
    text
      .replace(/^\/start\s+/u, '')
      .trim()
      .toUpperCase() === code;
  tell.say(`${send(name, code)} That makes you its owner. Waiting for 10 minutes; Ctrl-C stops.`);
  using limit = deadline(clock, PATIENCE_MS, 'The code');
  try {
    return await sender(bot, isCode, AbortSignal.any([limit.signal, signal]));
  } catch {
    if (signal.aborted) throw new Cancelled();
    return missed;
  }
}

/** Shows the link that adds the bot to a server, and with a person waits until it is in one: it can write to no one before. */
async function invite({ world, platform }: Run, bot: Bot, link: string): Promise<void> {
  const { person, tell, clock, signal } = world;
  const isIn = async (): Promise<boolean> => (await platform.isInvited?.(bot)) ?? true;
  if (await isIn()) return;
  tell.say(`Open this link and choose your server, so that the bot can write to you:\n${link}`);
  if (person === null) return;
  tell.say('Waiting until the bot is in your server, at most 10 minutes; Ctrl-C stops.');
  using limit = deadline(clock, PATIENCE_MS, 'The invitation');
  const either = AbortSignal.any([limit.signal, signal]);
  while (!either.aborted) {
    await sleep(clock, LOOK_MS, either).catch(() => {});
    if (signal.aborted) throw new Cancelled();
    if (await isIn()) {
      tell.good('The bot is in your server.');
      return;
    }
  }
  tell.say('The bot is in no server yet. Open the link later.');
}

/** Something that only a person, or another flag, can put right. */
function channelError(channel: string, message: string, options: { readonly exitCode?: number } = {}): AppError {
  return new AppError('setup', `${message} The model is set up; of ${channel} nothing was written.`, options);
}

/** Who is the only one in `allowFrom` is the owner by that. */
function impliedOwner(before: ChannelSettings | undefined): string | undefined {
  const [only, ...others] = before?.allowFrom ?? [];
  return (before?.owners ?? []).length === 0 && others.length === 0 && only !== '*' ? only : undefined;
}

/** The settings that make this person the owner, beside those who are there. */
function ownerSettings(channel: string, before: ChannelSettings | undefined, id: string): readonly Setting[] {
  const added = (key: 'owners' | 'allowFrom', kept: readonly string[] = []): readonly Setting[] => {
    const ids = [...kept, ...(before?.[key] ?? [])];
    return ids.includes(id) ? [] : [{ path: ['channels', channel, key], value: [...ids, id] }];
  };
  const implied = impliedOwner(before);
  // An owner by that stays one.
  return [...added('owners', implied === undefined || implied === id ? [] : [implied]), ...added('allowFrom')];
}
