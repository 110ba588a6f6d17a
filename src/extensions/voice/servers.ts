import type { Clock, Config } from '../../core/api.ts';
import {
  keysOf,
  usualKind,
  type Preset,
  type Program,
  type ProviderConfig,
  type SpeechState,
  type Synthesize,
  type Transcribe,
  type Vendor,
  switchedOff,
} from '../../core/api-vendors.ts';
import { voice as settings } from './settings.ts';

/** How a section of the configuration names a server for speech. */
type SpeechSettings = Pick<ReturnType<typeof settings.of>['speech'], 'provider' | 'apiKey' | 'baseUrl' | 'model'>;

/** A server for speech, as it is called. */
export interface SpeechServer<Call> {
  /** The provider's name, or `voice`. */
  readonly provider: string;
  readonly apiKey: string | null;
  readonly baseUrl: string;
  readonly model: string;
  /** No setting names it: there is a key. */
  readonly isAutomatic: boolean;
  readonly open: (endpoint: Parameters<Vendor['connect']>[0], model: string) => Promise<Call>;
}

/** A server; null: none is set; a sentence: the settings name one that cannot be called. */
type Found<Call> = SpeechServer<Call> | null | string;

interface Loaded {
  readonly config: Config;
  readonly program: Pick<Program, 'presets' | 'vendors'>;
}

/** What a section is about. */
interface Subject<Call> {
  /** Its path in the configuration. */
  readonly section: string;
  readonly settings: SpeechSettings;
  /** The model of a service that is known for it. */
  readonly modelOf: (service: Preset) => string | undefined;
  readonly opens: (vendor: Vendor) => SpeechServer<Call>['open'] | undefined;
}

/** Where the words of voice messages come from. */
export function hearingServer(loaded: Loaded): Found<Transcribe> {
  const own = settings.of(loaded.config);
  return serverOf(loaded, { section: 'voice', settings: own, modelOf: hears, opens: ({ transcribe }) => transcribe });
}

/** Who speaks answers. */
export function speakingServer(loaded: Loaded): Found<Synthesize> {
  const own = settings.of(loaded.config).speech;
  return serverOf(loaded, { section: 'voice.speech', settings: own, modelOf: speaks, opens: ({ speak }) => speak });
}

const hears: Subject<unknown>['modelOf'] = (service) => service.hears;
const speaks: Subject<unknown>['modelOf'] = (service) => service.speaks?.model;

/** Opens the model of a server, and keeps it until the settings name another one. */
export function lastOpened<Call>(): (
  server: SpeechServer<Call>,
  endpoint: { readonly name: string; readonly clock: Clock },
) => Promise<Call> {
  let made: { readonly from: string; readonly call: Promise<Call> } | undefined;
  return (server, endpoint) => {
    const from = JSON.stringify(server);
    const { apiKey, baseUrl, model } = server;
    if (made?.from !== from) made = { from, call: server.open({ ...endpoint, apiKey, baseUrl }, model) };
    // What did not open is tried anew.
    made.call.catch(() => (made = undefined));
    return made.call;
  };
}

/** The services of `auto`, in its order: by name the address and the model that is asked for. */
export function knownServices(
  presets: Program['presets'],
  modelOf = hears,
): ReadonlyMap<string, { readonly baseUrl: string; readonly model: string }> {
  return new Map(
    [...presets].flatMap(([name, preset]) => {
      const [model, baseUrl] = [modelOf(preset), preset.baseUrl ?? preset.ownUrl];
      return model === undefined || baseUrl === undefined ? [] : [[name, { baseUrl, model }] as const];
    }),
  );
}

/** Dollars per million characters that a server speaks, where it is a service at its own address; null: unknown. */
export function speakingPrice(
  { model, baseUrl }: Pick<SpeechServer<Synthesize>, 'model' | 'baseUrl'>,
  presets: Program['presets'],
): number | null {
  const service = [...presets.values()].find(
    ({ speaks, ownUrl, baseUrl: url }) => speaks !== undefined && hostOf(url ?? ownUrl ?? '') === hostOf(baseUrl),
  );
  const prices = service?.speaks?.prices ?? {};
  return Object.hasOwn(prices, model) ? (prices[model] ?? null) : null;
}

/** Whether the settings name a server that can be called. */
export function hasServer<Call>(server: Found<Call>): server is SpeechServer<Call> {
  return server !== null && typeof server !== 'string';
}

function serverOf<Call>({ config: { providers }, program }: Loaded, subject: Subject<Call>): Found<Call> {
  const { vendors } = program;
  const presets = new Map([...program.presets].filter(([, { off }]) => off === undefined));
  const { section, settings, modelOf, opens } = subject;
  const { provider, apiKey, baseUrl } = settings;
  if (provider === null) return null;
  const known = knownServices(presets, modelOf);
  const openOf = (kind: string): SpeechServer<Call>['open'] | undefined => {
    const vendor = vendors[presets.get(kind)?.api ?? ''];
    return vendor === undefined ? undefined : opens(vendor);
  };
  if (provider === 'auto' && baseUrl === null) return automatic(subject, { known, providers, openOf });
  const entry = Object.hasOwn(providers, provider) ? providers[provider] : undefined;
  const kind = entry?.kind ?? provider;
  const off = program.presets.get(kind)?.off;
  if (off !== undefined) return `${section}.provider is ${JSON.stringify(provider)}: ${switchedOff(off)}.`;
  const usual = usualKind(presets) ?? '';
  const open = openOf(kind) ?? openOf(usual);
  if (open === undefined) return `${section} names a server, and no extension of this program can ask it.`;
  const ownModel = known.get(usual)?.model ?? '';
  if (provider === 'auto' && baseUrl !== null) {
    return { provider: 'voice', apiKey, baseUrl, model: settings.model ?? ownModel, isAutomatic: false, open };
  }
  const service = known.get(kind);
  // A key is sent to the server that it was written down for.
  const address =
    baseUrl ??
    (apiKey === null ? entry?.baseUrl : null) ??
    service?.baseUrl ??
    entry?.baseUrl ??
    (entry === undefined || openOf(kind) === undefined ? null : (presets.get(kind)?.baseUrl ?? null));
  if (address === null) {
    const names = `${[...known.keys()].join(' and ')} ${known.size === 1 ? 'is' : 'are'} known`;
    return `${section}.provider is ${JSON.stringify(provider)}: ${names}; any other needs ${section}.baseUrl.`;
  }
  const key = apiKey ?? keyOf(entry);
  if (key === null && baseUrl === null && (entry?.baseUrl ?? null) === null) {
    return `${section}.provider is ${JSON.stringify(provider)}, which needs a key: set ${section}.apiKey.`;
  }
  const model = settings.model ?? service?.model ?? ownModel;
  return { provider, apiKey: key, baseUrl: address, model, isAutomatic: false, open };
}

/** The first known provider that has a key and is reached at its own address: another server may not know speech. */
function automatic<Call>(
  { section, settings: { apiKey, model } }: Subject<Call>,
  {
    known,
    providers,
    openOf,
  }: {
    readonly known: ReturnType<typeof knownServices>;
    readonly providers: Config['providers'];
    readonly openOf: (kind: string) => SpeechServer<Call>['open'] | undefined;
  },
): Found<Call> {
  if (apiKey !== null) {
    return `There is a key in ${section}.apiKey, but not whose: name it in ${section}.provider (${[...known.keys()].join(', ')}).`;
  }
  for (const [name, { baseUrl: own, model: usual }] of known) {
    const open = openOf(name);
    for (const [provider, entry] of Object.entries(providers)) {
      const key = keyOf(entry);
      const baseUrl = entry.baseUrl ?? own;
      if ((entry.kind ?? provider) !== name || key === null || hostOf(baseUrl) !== hostOf(own)) continue;
      if (open !== undefined) return { provider, apiKey: key, baseUrl, model: model ?? usual, isAutomatic: true, open };
    }
  }
  return null;
}

function keyOf(entry: ProviderConfig | undefined): string | null {
  return entry === undefined ? null : (keysOf(entry)[0] ?? null);
}

function hostOf(baseUrl: string): string {
  return URL.parse(baseUrl)?.host ?? '';
}

/** What these settings make of voice messages and of answers, for the status, the set-up and the turns. */
export function speechState(loaded: Loaded): SpeechState {
  const [heard, spoken] = [hearingServer(loaded), speakingServer(loaded)];
  const { when } = settings.of(loaded.config).speech;
  const often = when === 'voice' ? 'to voice messages and when you ask for it' : 'when you ask for it';
  return {
    voice: hasServer(heard)
      ? `turned into text by ${modelText(heard)}; recordings go to ${hostOf(heard.baseUrl)}`
      : heard,
    speech: hasServer(spoken)
      ? `spoken by ${modelText(spoken)} ${often}; their text goes to ${hostOf(spoken.baseUrl)}`
      : spoken,
    hears: hasServer(heard) ? { isAutomatic: heard.isAutomatic } : null,
    speaks: hasServer(spoken) ? { toVoice: when === 'voice' } : null,
  };
}

function modelText({ provider, model }: Pick<SpeechServer<unknown>, 'provider' | 'model'>): string {
  return provider === 'voice' ? model : `${model} of ${provider}`;
}
