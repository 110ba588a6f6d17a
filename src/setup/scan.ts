import type { Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import { findPreset, PRESETS } from '../providers/presets.ts';
import type { Clock } from '../util/clock.ts';
import { plural } from '../util/text.ts';
import { listModels } from './models.ts';

/** A way to reach models, as the set-up offers it. */
export interface Offer {
  readonly provider: string;
  /** Why it would work now; null: it needs a key or a server first. */
  readonly found: string | null;
}

/** The local servers that are looked for. Where none listens the answer is there at once; a busy one may take this long. */
const LOCAL = { ollama: 'Ollama', lmstudio: 'LM Studio', llamacpp: 'llama.cpp', vllm: 'vLLM' } as const;
const LOOK_MS = 3_000;

/**
 * What models could be used here: the keys of the environment (by name) and of the configuration, then local servers
 * that answer now, then everything else that is known.
 */
export async function scan(config: Config, env: Environment, clock: Clock): Promise<readonly Offer[]> {
  const local = await Promise.all(
    Object.entries(LOCAL).map(async ([provider, title]) => {
      const baseUrl = localAddress(provider, config, env);
      const models = await listModels({ provider, baseUrl, apiKey: null, clock, timeoutMs: LOOK_MS });
      if (models.kind !== 'listed') return { provider, found: null };
      return { provider, found: `${title} runs here, ${plural(models.names.length, 'model')}` };
    }),
  );
  const configured = Object.entries(config.providers).map(([provider, { apiKey, kind }]) => {
    const variable = findPreset(provider)?.keyVariable ?? null;
    const isFromEnvironment = variable !== null && env[variable] !== undefined && env[variable] === apiKey;
    if (isFromEnvironment) return { provider, found: `${variable} is set` };
    if (apiKey !== null) return { provider, found: 'its key is configured' };
    return { provider, found: kind === undefined || variable !== null ? null : 'configured' };
  });
  const known = Object.entries(PRESETS)
    .filter(([name, preset]) => !('needsBaseUrl' in preset) && name !== 'demo')
    .map(([provider]) => ({ provider, found: null }));
  const all = [...configured, ...local, ...known];
  const found = all.filter((offer) => offer.found !== null);
  const rest = all.filter((offer) => offer.found === null);
  const order = Object.keys(PRESETS);
  const place = ({ provider }: Offer): number => (order.indexOf(provider) + order.length) % order.length;
  const sorted = [...found.toSorted((a, b) => place(a) - place(b)), ...rest];
  return sorted.filter(({ provider }, at) => sorted.findIndex((other) => other.provider === provider) === at);
}

/** Where a local server is; Ollama's own variable `OLLAMA_HOST` counts. Null: the preset's address. */
export function localAddress(provider: string, config: Config, env: Environment): string | null {
  const configured = Object.hasOwn(config.providers, provider) ? config.providers[provider]?.baseUrl : null;
  if (configured !== null && configured !== undefined) return configured;
  const host = provider === 'ollama' ? env['OLLAMA_HOST'] : undefined;
  if (host === undefined) return null;
  const url = URL.parse(host.includes('://') ? host : `http://${host}`);
  if (url === null) return null;
  // What a server listens on is not what is called.
  if (url.hostname === '0.0.0.0') url.hostname = '127.0.0.1';
  if (url.port === '' && url.protocol === 'http:') url.port = '11434';
  return url.origin;
}
