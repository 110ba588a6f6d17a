import { createModels, fullName } from '../../core/assistant/models.ts';
import type { LoadedConfig } from '../../core/config/load.ts';
import { silentLog } from '../../core/util/log.ts';
import { systemRandom } from '../../core/util/random.ts';
import type { Config } from '../../core/config/schema.ts';
import type { Program } from '../../core/program.ts';
import { keysOf } from '../../core/providers/endpoint.ts';
import { asksWindowOf, hasBaseUrl, presetOf } from '../../core/providers/open-provider.ts';
import { canEmbed, embeddingServer, meaningText } from '../../core/providers/embedding-server.ts';
import { configuredWindow, LEAST_WINDOW, SMALL_WINDOW } from '../../core/providers/context-window-registry.ts';
import { factText } from '../../core/providers/learned.ts';
import { usualKind } from '../../core/providers/presets.ts';
import { askContextWindow, type ServerFacts } from '../../core/providers/probe-context-window.ts';
import { quirkNote } from '../../core/providers/quirks.ts';
import { listModels } from '../../setup/models.ts';
import { localAddress } from '../../setup/scan.ts';
import { pathText } from '../../core/config/setting.ts';
import { shellWord } from '../../core/util/text.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { failed, note, ok, skipped, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const modelChecks = checksOn('models', [
  ['model.answers', 'a model answers with this configuration', answers],
  [
    'memory.embeddings',
    'which server gets the texts of conversations and of the memory, so that they are searched by meaning',
    embeddings,
  ],
  [
    'provider.key',
    'each configured provider is reached and takes each of its keys, and lists the model that is set',
    keys,
    LIVE,
  ],
  ['model.window', 'a model on a server of one’s own is loaded with enough room for a conversation', window, LIVE],
  ['model.learned', 'what the server of the model has refused, and what is sent another way since', learned],
]);

/** A server that is busy with another model answers late. */
const WINDOW_MS = 8_000;
/** What is asked for where less is loaded. */
const WANTED_TOKENS = 32_768;

type ProviderEntry = Config['providers'][string];

function answers({ program, loaded, clock, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  try {
    const model = modelOfHome(loaded, clock);
    const { agent, providers } = loaded.config;
    if (!isScripted(program, model.split('/')[0] ?? '', providers)) return [ok(`${model} answers.`)];
    if (agent.model.trim() !== 'auto') return [ok('The scripted demo answers, as it is set.')];
    return [note('No key of a model provider is set, so the scripted demo answers.', command('init'))];
  } catch (error) {
    return [failed(errorMessage(error), command('init'))];
  }
}

function isScripted({ presets }: Program, name: string, providers: Config['providers']): boolean {
  const entry = Object.hasOwn(providers, name) ? providers[name] : undefined;
  return presets.get(entry?.kind ?? name)?.isScripted === true;
}

function embeddings({ program, loaded, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  const server = embeddingServer(loaded.config, program);
  if (server === null) return [];
  if (!canEmbed(server)) return [failed(server, command('config unset memory.embeddings'))];
  return [
    note(
      `The memory is searched ${meaningText(loaded.config, program)}. To switch that off, set memory.embeddings.model and its server to null.`,
      command('config unset memory.embeddings'),
    ),
  ];
}

/** The model of an entry that is set; null: none of this provider. */
function modelOf(name: string, { agent }: Config): string | null {
  const ref = [agent.model, ...agent.fallbacks].find((model) => model.startsWith(`${name}/`));
  return ref === undefined ? null : ref.slice(name.length + 1);
}

/** Those that are called: with a key, an address, or a model that is set. */
function calledProviders(program: Program, config: Config): readonly (readonly [string, ProviderEntry])[] {
  return Object.entries(config.providers).filter(([name, entry]) => {
    const isNamed = modelOf(name, config) !== null;
    return (
      !isScripted(program, name, config.providers) && (keysOf(entry).length > 0 || entry.baseUrl !== null || isNamed)
    );
  });
}

async function keys(scene: Scene, signal: AbortSignal): Promise<readonly Found[]> {
  const { loaded } = scene;
  if (loaded === null) return [];
  const found = await Promise.all(
    calledProviders(scene.program, loaded.config).flatMap(([name, entry]) => {
      const all = keysOf(entry);
      if (all.length === 0) return [keyFinding(scene, { name, entry, apiKey: null, label: name }, signal)];
      return all.map((apiKey, at) => {
        const label = all.length === 1 ? name : `${name} (key ${at + 1})`;
        return keyFinding(scene, { name, entry, apiKey, label }, signal);
      });
    }),
  );
  return found.filter((finding) => finding !== null);
}

interface AskedKey {
  readonly name: string;
  readonly entry: ProviderEntry;
  readonly apiKey: string | null;
  readonly label: string;
}

async function keyFinding(
  { program, loaded, env, clock, command, paths, service }: Scene,
  { name, entry, apiKey, label }: AskedKey,
  signal: AbortSignal,
): Promise<Found | null> {
  if (loaded === null) return null;
  const { config, keyVariables } = loaded;
  const kind = entry.kind ?? (program.presets.has(name) ? name : (usualKind(program.presets) ?? name));
  const preset = program.presets.get(kind);
  const needsKey = preset?.keyVariable !== null && entry.baseUrl === null;
  // That no model can be called is what model.answers says.
  if (apiKey === null && needsKey) return null;
  const baseUrl = localAddress(name, config, { program, env });
  const listed = await listModels({ program, provider: kind, baseUrl, apiKey, clock, signal });
  const variable = keyVariables[name];
  const place = service?.places.variables;
  const newKey =
    variable === undefined
      ? `Put a valid key into providers.${name}.apiKey in ${paths.config}, or run: ${command(`init --provider ${name}`)}`
      : `Put a valid key into ${variable}${place === undefined ? '' : ` in ${place}`}, and restart the assistant`;
  if (listed.kind === 'refused') {
    return failed(
      apiKey === null ? `${label} asks for an API key (401).` : `${label} refused the API key (401).`,
      newKey,
    );
  }
  if (listed.kind === 'unknown') {
    if (listed.status === 403) return failed(`${label} does not let this API key in (403).`, newKey);
    if (listed.status !== null && (listed.status < 300 || listed.status === 404 || listed.status === 405)) {
      return skipped(`${label} has no list of models, so its key could not be tried.`);
    }
    const isLocal = preset?.keyVariable === null;
    const isUsed = modelOf(name, config) !== null;
    const remedy =
      program.vendors[kind]?.hints?.start ??
      `Start the server, or correct providers.${name}.baseUrl in ${paths.config}`;
    if (listed.status !== null) return warning(`${label} does not work now: ${listed.why}.`, command('doctor'));
    const say = isUsed ? failed : warning;
    return say(
      `${label} does not work: ${listed.why}.`,
      isLocal || entry.baseUrl !== null ? remedy : `curl -I ${baseUrl ?? 'https://example.com'}`,
    );
  }
  const model = modelOf(name, config);
  const hasModel =
    model === null ||
    listed.names.length === 0 ||
    listed.names.some((one) => one === model || one === `${model}:latest`);
  if (hasModel) return ok(apiKey === null ? `${label} answers.` : `${label} takes the key.`);
  const hints = program.vendors[kind]?.hints;
  const remedy = hints?.pull(model ?? '') ?? command(`init --provider ${name}`);
  // A local server lists all that it has; others leave out aliases.
  const say = hints === undefined ? note : failed;
  return say(`${label} does not list the model ${model}.`, remedy);
}

async function window({ program, loaded, env, clock, command }: Scene, signal: AbortSignal): Promise<readonly Found[]> {
  const ref = answeringModel(loaded, clock);
  if (loaded === null || ref === null) return [];
  const { config } = loaded;
  const { vendors, presets } = program;
  const [name = ''] = ref.split('/');
  const model = ref.slice(name.length + 1);
  const entry = Object.hasOwn(config.providers, name) ? config.providers[name] : undefined;
  const preset =
    entry !== undefined && hasBaseUrl(entry) ? presetOf(presets, name, entry) : presets.get(entry?.kind ?? name);
  const baseUrl = localAddress(name, config, { program, env }) ?? preset?.baseUrl ?? null;
  if (preset === undefined || baseUrl === null || !asksWindowOf(entry ?? {}, preset, vendors)) return [];
  const vendor = vendors[preset.api];
  const apiKey = entry === undefined ? null : (keysOf(entry)[0] ?? null);
  const set = configuredWindow(config, ref);
  let hasTools = true;
  const onServer = (facts: ServerFacts): void => void (hasTools = facts.hasTools);
  const { headers } = entry ?? {};
  const asked = { baseUrl, model, apiKey, headers, clock, deadlineMs: WINDOW_MS, onServer, configured: set };
  const [tokens, now] = await Promise.all([
    askContextWindow(vendors, preset.api, asked),
    vendor?.loadedWindow?.(asked) ?? null,
  ]);
  signal.throwIfAborted();
  const noTools = hasTools ? null : quirkNote('no tools', model);
  return [
    ...windowFindings({ name, model, ref, isTold: vendor?.usualWindow !== undefined, set, tokens, now }, command),
    ...(noTools === null ? [] : [warning(noTools, command(`init --provider ${name}`))]),
  ];
}

interface LoadedWindow {
  readonly name: string;
  readonly model: string;
  readonly ref: string;
  /** The server is told how many tokens to load. */
  readonly isTold: boolean;
  /** Tokens that are configured. */
  readonly set: number | null;
  /** What the server says. */
  readonly tokens: number | null;
  /** What it has loaded at present. */
  readonly now: number | null;
}

function windowFindings(loaded: LoadedWindow, command: Scene['command']): readonly Found[] {
  const { name, model, ref, isTold, set, tokens, now } = loaded;
  if (tokens === null) return [skipped(`${name} does not say how many tokens of ${model} it loads.`)];
  if (set !== null && set > tokens) {
    const rest = isTold ? ' and cuts off what is longer without a word' : ', so no more is sent';
    const says = `${ref} is to read ${set} tokens, but ${name} loads only ${tokens}${rest}.`;
    return [failed(says, command(`config set ${shellWord(pathText(['models', ref, 'contextWindow']))} ${tokens}`))];
  }
  if (tokens < SMALL_WINDOW) {
    const raise = isTold
      ? command(`config set ${shellWord(pathText(['models', ref, 'contextWindow']))} ${WANTED_TOKENS}`)
      : `Start the server with a window of ${WANTED_TOKENS} tokens (llama-server -c ${WANTED_TOKENS}, vllm serve --max-model-len ${WANTED_TOKENS}, LM Studio: context length)`;
    const [say, why] =
      tokens < LEAST_WINDOW
        ? [failed, 'too few for any use']
        : [warning, 'so there are fewer tools, and longer conversations are forgotten early'];
    return [say(`${name} loads only ${tokens} tokens of ${model}, ${why}.`, raise)];
  }
  if (now !== null && now < tokens) {
    const says = `${model} is loaded with ${now} tokens now, though ${tokens} are asked for: another program loaded it, or something between takes the wish away.`;
    return [note(says, command(`init --provider ${name}`))];
  }
  return [ok(`${name} loads ${tokens} tokens of ${model}.`)];
}

function learned({ loaded, clock, journal }: Scene): readonly Found[] {
  const ref = answeringModel(loaded, clock);
  const facts = (journal?.modelFacts() ?? []).filter(({ model }) => model === ref);
  const texts = facts.map(factText).filter((text) => text !== null);
  if (texts.length === 0) return [];
  const says = `Learned from what the server of ${ref} refused or said of itself: ${texts.join('; ')}.`;
  return [note(says)];
}

/** Null if no model can answer; `model.answers` says why. */
function answeringModel(loaded: Scene['loaded'], clock: Scene['clock']): string | null {
  try {
    return loaded === null ? null : modelOfHome(loaded, clock);
  } catch {
    return null;
  }
}

/** `provider/model` that answers with this configuration. Throws one sentence where none can. */
function modelOfHome(loaded: LoadedConfig, clock: Scene['clock']): string {
  const { config } = loaded;
  return fullName(createModels({ config, loaded, clock, random: systemRandom, log: silentLog }).standard);
}
