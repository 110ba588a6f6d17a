import { keysOf, type ProviderConfig } from './open-provider.ts';
import type { Preset, Presets } from './presets.ts';

/** How a section of the configuration names a server for speech. */
export interface SpeechSettings {
  /** `auto`: the first of the known providers that has a key; null: none; else a name. */
  readonly provider: string | null;
  readonly apiKey: string | null;
  readonly baseUrl: string | null;
  readonly model: string | null;
}

/** A server for speech, as it is called. */
export interface SpeechServer {
  /** The provider's name, or `voice`. */
  readonly provider: string;
  readonly apiKey: string | null;
  /** Null: OpenAI's own. */
  readonly baseUrl: string | null;
  readonly model: string;
  /** No setting names it: there is a key. */
  readonly isAutomatic: boolean;
}

/** The providers of `auto`, in its order, with the address that each is known by and the model that is asked for. */
type Known = Readonly<Record<string, { readonly baseUrl: string | null; readonly model: string }>>;

/** Speech to text. */
export const HEARING: Known = {
  openai: { baseUrl: null, model: 'whisper-1' },
  groq: { baseUrl: 'https://api.groq.com/openai/v1', model: 'whisper-large-v3-turbo' },
};

/** Text to speech. */
const SPEAKING: Known = { openai: { baseUrl: null, model: 'tts-1' } };

/** Dollars per million characters, at OpenAI's own address. */
const SPEAKING_PRICES: Readonly<Record<string, number>> = { 'tts-1': 15, 'tts-1-hd': 30 };

const OPENAI_URL = 'https://api.openai.com/v1';

/** Where the words of voice messages come from. Null: no server; a sentence: the settings name one that cannot be called. */
export function hearingServer({ voice, providers }: HearingConfig, presets: Presets): SpeechServer | null | string {
  return serverOf(voice, { section: 'voice', known: HEARING, ownModel: 'whisper-1', providers, presets });
}

interface HearingConfig {
  readonly voice: SpeechSettings;
  readonly providers: Providers;
}

/** Who speaks answers; as `hearingServer`. */
export function speakingServer({ voice, providers }: SpeakingConfig, presets: Presets): SpeechServer | null | string {
  return serverOf(voice.speech, { section: 'voice.speech', known: SPEAKING, ownModel: 'tts-1', providers, presets });
}

interface SpeakingConfig {
  readonly voice: { readonly speech: SpeechSettings };
  readonly providers: Providers;
}

/** Dollars per million characters that a server speaks; null: unknown. */
export function speakingPrice({ model, baseUrl }: SpeechServer): number | null {
  const isOpenAis = hostOf(baseUrl) === hostOf(null);
  return isOpenAis && Object.hasOwn(SPEAKING_PRICES, model) ? (SPEAKING_PRICES[model] ?? null) : null;
}

/** Whether the settings name a server that can be called. */
export function hasServer(server: SpeechServer | null | string): server is SpeechServer {
  return server !== null && typeof server !== 'string';
}

type Providers = Readonly<Record<string, ProviderConfig>>;

interface Section {
  /** Its path in the configuration. */
  readonly section: string;
  readonly known: Known;
  readonly ownModel: string;
  readonly providers: Providers;
  readonly presets: Presets;
}

function serverOf(settings: SpeechSettings, about: Section): SpeechServer | null | string {
  const { section, known, ownModel, providers, presets } = about;
  const { provider, apiKey, baseUrl } = settings;
  if (provider === null) return null;
  if (provider === 'auto') {
    if (baseUrl === null) return automatic(settings, about);
    return { provider: 'voice', apiKey, baseUrl, model: settings.model ?? ownModel, isAutomatic: false };
  }
  const entry = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const usual = knownAs(known, entry?.kind ?? provider);
  // A key is sent to the server that it was written down for.
  const address =
    baseUrl ??
    (apiKey === null ? entry?.baseUrl : null) ??
    usual?.baseUrl ??
    entry?.baseUrl ??
    (entry === undefined ? null : openAiUrl(presets.get(entry.kind ?? provider)));
  const names = Object.keys(known).join(' and ');
  if (usual === undefined && address === null) {
    return `${section}.provider is ${JSON.stringify(provider)}: ${names} ${Object.keys(known).length === 1 ? 'is' : 'are'} known; any other needs ${section}.baseUrl.`;
  }
  const key = apiKey ?? keyOf(entry);
  if (key === null && baseUrl === null && (entry?.baseUrl ?? null) === null) {
    return `${section}.provider is ${JSON.stringify(provider)}, which needs a key: set ${section}.apiKey.`;
  }
  const model = settings.model ?? usual?.model ?? ownModel;
  return { provider, apiKey: key, baseUrl: address, model, isAutomatic: false };
}

/** The first known provider that has a key and is reached at its own address: another server may not know speech. */
function automatic(
  { apiKey, model }: SpeechSettings,
  { section, known, providers }: Section,
): SpeechServer | null | string {
  if (apiKey !== null) {
    return `There is a key in ${section}.apiKey, but not whose: name it in ${section}.provider (${Object.keys(known).join(', ')}).`;
  }
  for (const [name, { baseUrl, model: usual }] of Object.entries(known)) {
    for (const [provider, entry] of Object.entries(providers)) {
      const key = keyOf(entry);
      if ((entry.kind ?? provider) !== name || key === null || !isOwnAddress(baseUrl, entry.baseUrl ?? null)) continue;
      return { provider, apiKey: key, baseUrl: entry.baseUrl ?? baseUrl, model: model ?? usual, isAutomatic: true };
    }
  }
  return null;
}

/** The address of a service that speaks OpenAI's API. */
function openAiUrl(preset: Preset | undefined): string | null {
  return preset?.api === 'openai' ? preset.baseUrl : null;
}

function knownAs(known: Known, kind: string): Known[string] | undefined {
  return Object.hasOwn(known, kind) ? known[kind] : undefined;
}

function isOwnAddress(usual: string | null, baseUrl: string | null): boolean {
  return baseUrl === null || hostOf(baseUrl) === hostOf(usual);
}

function keyOf(entry: ProviderConfig | undefined): string | null {
  return entry === undefined ? null : (keysOf(entry)[0] ?? null);
}

/** The host that a server for speech is at. */
function hostOf(baseUrl: string | null): string {
  return URL.parse(baseUrl ?? OPENAI_URL)?.host ?? '';
}

/**
 * What becomes of voice messages and where recordings go, for status and the set-up, without a full stop; a sentence where the
 * settings name a server that cannot be called; null: they are not turned into text.
 */
export function voiceText(config: HearingConfig, presets: Presets): string | null {
  const server = hearingServer(config, presets);
  if (!hasServer(server)) return server;
  return `turned into text by ${modelText(server)}; recordings go to ${hostOf(server.baseUrl)}`;
}

/** Who speaks answers and where their text goes; as `voiceText`. */
export function speechText(
  config: SpeakingConfig & { readonly voice: { readonly speech: { readonly when: string } } },
  presets: Presets,
): string | null {
  const server = speakingServer(config, presets);
  if (!hasServer(server)) return server;
  const when =
    config.voice.speech.when === 'voice' ? 'to voice messages and when you ask for it' : 'when you ask for it';
  return `spoken by ${modelText(server)} ${when}; their text goes to ${hostOf(server.baseUrl)}`;
}

function modelText({ provider, model }: SpeechServer): string {
  return provider === 'voice' ? model : `${model} of ${provider}`;
}
