import type { Config } from '../core/config/schema.ts';
import type { Program } from '../core/program.ts';
import { configuredWindow } from '../core/providers/context-window-registry.ts';
import { keysOf } from '../core/providers/endpoint.ts';
import { hasBaseUrl, type ProviderConfig } from '../core/providers/open-provider.ts';
import { scriptedKind, usualKind } from '../core/providers/presets.ts';
import { Cancelled, type Choice } from '../core/setup/asker.ts';
import { windowSettings } from './context-window.ts';
import { listModels } from './models.ts';
import type { Setting } from '../core/setup/save.ts';
import { localAddress, localServers, scan } from './scan.ts';
import { tryModel, type TrialResult } from './try-model.ts';
import { setupError, type Given, type SetupWorld } from '../core/setup/world.ts';

/** The chosen model, and the settings to write for it. */
export interface SetUpModel {
  readonly provider: string;
  readonly model: string;
  readonly settings: readonly Setting[];
}

/** An API key, and the setting to write for it; null: it is found without one. */
interface Key {
  readonly value: string | null;
  readonly setting: Setting | null;
}

interface Draft {
  readonly provider: string;
  readonly config: ProviderConfig;
  readonly key: Key;
  readonly model: string;
}

const OTHER = '(other)';
const CUSTOM = 'custom';
/** The provider of an address that was given without a name. */
const LOCAL = 'local';

/**
 * Chooses the model: asks for provider, key and model unless flags give them, and makes one real call. If that fails the
 * person corrects the part that was wrong; without a person it throws. Throws `Cancelled` at Ctrl-C.
 */
export async function chooseModel(world: SetupWorld, config: Config, given: Given): Promise<SetUpModel> {
  let provider = await chooseProvider(world, config, given);
  for (;;) {
    const preset = world.program.presets.get(provider);
    if (preset?.isScripted === true) return { provider, model: preset.defaultModel ?? '', settings: [] };
    const draft = await complete(world, config, await draftOf(world, config, given, provider), given);
    if (draft !== null) {
      const { model, key } = draft;
      const place = { provider: draft.provider, model, entry: draft.config, apiKey: key.value };
      const windows = given.noCheck ? [] : await windowSettings(world, config, place);
      return { provider: draft.provider, model, settings: [...settingsOf(draft, config), ...windows] };
    }
    provider = await chooseProvider(world, config, { ...given, provider: undefined });
  }
}

async function chooseProvider(world: SetupWorld, config: Config, given: Given): Promise<string> {
  const { program, person, tell } = world;
  if (given.provider !== undefined) return requireKnown(program, given.provider, config, given);
  const [named] = given.model?.includes('/') === true ? given.model.split('/') : [];
  if (named !== undefined && isKnown(program, named, config)) return named;
  if (given.baseUrl !== undefined) return LOCAL;
  const offers = await scan(world, config);
  const current = config.agent.model === 'auto' ? undefined : config.agent.model.split('/')[0];
  const first = current ?? offers.find(({ found }) => found !== null)?.provider;
  const titles = localServers(program).map(([, title]) => title);
  const list = new Intl.ListFormat('en-GB', { type: 'disjunction' });
  const scripted = scriptedKind(program.presets);
  const nothing = `I found no API key in the environment, and no ${list.format(titles)} is running here.`;
  if (person === null) {
    if (first !== undefined) return first;
    throw setupError(
      `${nothing} Give --provider NAME with --key-env VARIABLE, --base-url ADDRESS for a server of your own${scripted === undefined ? '' : `, or --provider ${scripted}`}.`,
    );
  }
  if (first === undefined) tell.say(nothing);
  const choices: Choice[] = [
    ...offers.map(({ provider, found }) => ({
      value: provider,
      label: provider,
      hint: found ?? needOf(program, provider),
    })),
    { value: OTHER, label: 'another server', hint: 'any that speaks OpenAI’s API' },
    ...(scripted === undefined
      ? []
      : [{ value: scripted, label: scripted, hint: 'no AI: to look around without a key' }]),
  ];
  const [known = OTHER] = program.presets.keys();
  return person.choose('Who provides the model?', choices, first ?? Object.keys(config.providers)[0] ?? known);
}

function needOf({ presets }: Program, provider: string): string {
  return presets.get(provider)?.keyVariable === null ? 'does not run here now' : 'needs a key';
}

function isKnown({ presets }: Program, provider: string, config: Config): boolean {
  return presets.has(provider) || Object.hasOwn(config.providers, provider);
}

function requireKnown(program: Program, provider: string, config: Config, { baseUrl }: Given): string {
  if (isKnown(program, provider, config) || (baseUrl !== undefined && /^[\w-]+$/u.test(provider))) return provider;
  const known = [...program.presets.keys()].join(', ');
  throw setupError(`The provider "${provider}" is not known. Known: ${known}; any other needs --base-url.`);
}

/** A draft with provider, address and key, still without a model. */
async function draftOf(world: SetupWorld, config: Config, given: Given, chosen: string): Promise<Draft> {
  const {
    program: { presets },
    person,
  } = world;
  const provider = chosen === OTHER ? CUSTOM : chosen;
  const before: ProviderConfig = (Object.hasOwn(config.providers, provider) && config.providers[provider]) || {};
  const address = async (): Promise<string | null> => {
    if (given.baseUrl !== undefined) return requireAddress(given.baseUrl);
    if (chosen !== OTHER || person === null) return localAddress(provider, config, world);
    return person.text('Its address, as in http://127.0.0.1:8000/v1', before.baseUrl ?? '', addressProblem);
  };
  const baseUrl = await address();
  const entry: ProviderConfig = {
    ...before,
    ...(baseUrl === null ? {} : { baseUrl }),
    ...(!presets.has(provider) && before.kind == null ? { kind: usualKind(presets) } : {}),
  };
  return { provider, config: entry, key: await keyOf(world, provider, entry, given), model: '' };
}

async function keyOf(world: SetupWorld, provider: string, entry: ProviderConfig, { keyEnv }: Given): Promise<Key> {
  const { presets } = world.program;
  const [configured = null] = keysOf(entry);
  if (keyEnv !== undefined) {
    if (!/^[A-Z_][A-Z0-9_]*$/u.test(keyEnv)) {
      throw setupError('--key-env takes the name of an environment variable such as ANTHROPIC_API_KEY, not the key.');
    }
    const value = world.env[keyEnv];
    if (value === undefined) throw setupError(`${keyEnv} is not set in the environment.`);
    const path = ['providers', provider, 'apiKey'];
    return { value, setting: value === configured ? null : { path, value: `\${${keyEnv}}` } };
  }
  const variable = presets.get(entry.kind ?? provider)?.keyVariable ?? null;
  if (configured !== null || variable === null || (!presets.has(provider) && hasBaseUrl(entry))) {
    return { value: configured, setting: null };
  }
  if (world.person === null) {
    throw setupError(`${provider} needs a key. Put it into ${variable}, or name its variable with --key-env.`);
  }
  return askKey(world, provider);
}

async function askKey({ program, person, tell }: SetupWorld, provider: string): Promise<Key> {
  const preset = program.presets.get(provider);
  if (preset?.keyPage !== undefined) tell.say(`Get a key of ${provider} at ${preset.keyPage}`);
  const secret = (await person?.secret(`The API key of ${provider} (it is not shown)`)) ?? '';
  const name = preset?.keyVariable ?? `${provider.toUpperCase().replaceAll(/\W/gu, '_')}_API_KEY`;
  return { value: secret, setting: { path: ['providers', provider, 'apiKey'], name, secret } };
}

/** Asks for the model and tries it until it has answered; null: the person wants another provider. */
async function complete(world: SetupWorld, config: Config, begun: Draft, given: Given): Promise<Draft | null> {
  let draft = begun;
  const wanted = given.model === undefined ? '' : withoutProvider(given.model, draft.provider);
  draft = { ...draft, model: wanted === '' ? '' : requireModel(wanted) };
  for (;;) {
    if (draft.model === '') {
      const found = await askModel(world, config, draft);
      if (found === null) return null;
      draft = found;
    }
    if (given.noCheck) return draft;
    const result = await tryDraft(world, config, draft);
    if (result.ok) {
      world.tell.good(`${draft.provider}/${draft.model} answered in ${result.seconds.toFixed(1)} s.`);
      if (result.note !== undefined) world.tell.bad(result.note);
      return draft;
    }
    if (world.person === null) throw setupError(result.why);
    world.tell.bad(result.why);
    if (result.wrong === 'key') draft = { ...draft, key: await askKey(world, draft.provider) };
    else if (result.wrong === 'model') draft = { ...draft, model: '' };
    else {
      const choices = [
        { value: 'again', label: 'Try again' },
        { value: 'provider', label: 'Choose another provider' },
        { value: 'save', label: 'Use it anyway' },
        { value: 'stop', label: 'Stop; nothing is written' },
      ];
      const next = await world.person.choose('What now?', choices, 'again');
      if (next === 'provider') return null;
      if (next === 'save') return draft;
      if (next === 'stop') throw new Cancelled();
    }
  }
}

async function tryDraft(
  { program, tell, clock, signal }: SetupWorld,
  settings: Config,
  draft: Draft,
): Promise<TrialResult> {
  tell.say(`Asking ${draft.provider}/${draft.model} for one answer …`);
  const { provider, model, config, key } = draft;
  const window = configuredWindow(settings, `${provider}/${model}`);
  const result = await tryModel({
    provider,
    model,
    config,
    apiKey: key.value,
    window,
    program,
    clock,
    signal,
  });
  if (signal.aborted) throw new Cancelled();
  return result;
}

/** Adds a model to the draft, and another key if the first was refused. Null: the provider has no model. */
async function askModel(world: SetupWorld, config: Config, begun: Draft): Promise<Draft | null> {
  const { program, person, clock, tell } = world;
  let draft = begun;
  const { provider } = draft;
  const { presets } = program;
  const list = () =>
    listModels({ program, provider, baseUrl: draft.config.baseUrl ?? null, apiKey: draft.key.value, clock });
  let listed = await list();
  while (listed.kind === 'refused') {
    const { value: key } = draft.key;
    const server = provider === CUSTOM ? `The server at ${URL.parse(draft.config.baseUrl ?? '')?.host}` : provider;
    const why = key === null ? `${server} needs an API key.` : `${server} refused the API key (401).`;
    if (person === null) throw setupError(key === null ? `${why} Name its variable with --key-env.` : why);
    tell.bad(why);
    draft = { ...draft, key: await askKey(world, provider) };
    listed = await list();
  }
  const names = listed.kind === 'listed' ? listed.names : [];
  const configured = config.agent.model.startsWith(`${provider}/`) ? withoutProvider(config.agent.model, provider) : '';
  const usual = configured === '' ? (presets.get(provider)?.defaultModel ?? '') : configured;
  if (listed.kind === 'listed' && names.length === 0 && usual === '') {
    const hints = program.vendors[provider]?.hints;
    const pull = hints === undefined ? '' : ` Get one with: ${hints.pull('qwen3')}`;
    if (person === null) throw setupError(`${provider} has no model yet.${pull}`);
    tell.bad(`${provider} has no model yet.${pull}`);
    return null;
  }
  // A model that the configuration names comes first, listed or not.
  const first = configured !== '' || names.length === 0 || names.includes(usual) ? usual : (names[0] ?? usual);
  if (person === null) {
    const why = listed.kind === 'unknown' ? `: ${listed.why}` : '';
    if (first === '') throw setupError(`${provider} does not say which models it has${why}. Give --model NAME.`);
    return { ...draft, model: first };
  }
  const typed = (): Promise<string> => person.text('Which model?', first, modelProblem);
  if (names.length === 0) return { ...draft, model: await typed() };
  const choices: Choice[] = [
    { value: first, label: first },
    ...names.filter((name) => name !== first).map((value) => ({ value, label: value })),
    { value: OTHER, label: 'another name' },
  ];
  const chosen = await person.choose('Which model?', choices, first);
  return { ...draft, model: chosen === OTHER ? await typed() : chosen };
}

function withoutProvider(model: string, provider: string): string {
  return model.startsWith(`${provider}/`) ? model.slice(provider.length + 1) : model;
}

function requireModel(model: string): string {
  const problem = modelProblem(model);
  if (problem !== undefined) throw setupError(problem);
  return model;
}

function modelProblem(model: string): string | undefined {
  return /^\S+$/u.test(model) ? undefined : 'A model’s name has no spaces and is not empty.';
}

function requireAddress(address: string): string {
  const problem = addressProblem(address);
  if (problem !== undefined) throw setupError(problem);
  return address;
}

function addressProblem(address: string): string | undefined {
  const isAddress = /^https?:$/u.test(URL.parse(address)?.protocol ?? '');
  return isAddress ? undefined : 'An address begins with http:// or https://, as in http://127.0.0.1:8000/v1.';
}

function settingsOf({ provider, config, key }: Draft, { providers }: Config): readonly Setting[] {
  const before = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const changed = (['kind', 'baseUrl'] as const).filter((name) => (config[name] ?? null) !== (before?.[name] ?? null));
  return [
    ...changed.map((name) => ({ path: ['providers', provider, name], value: config[name] })),
    ...(key.setting === null ? [] : [key.setting]),
  ];
}
