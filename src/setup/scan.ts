import type { Config } from '../core/config/schema.ts';
import type { Program } from '../core/program.ts';
import { plural } from '../core/util/text.ts';
import { listModels } from './models.ts';
import type { SetupWorld } from '../core/setup/world.ts';

/** A way to reach models, as the set-up offers it. */
export interface Offer {
  readonly provider: string;
  /** Why it would work now; null: it needs a key or a server first. */
  readonly found: string | null;
}

/** Where no local server listens the answer is there at once; a busy one may take this long. */
const LOOK_MS = 3_000;

/**
 * What models could be used here: the keys of the environment (by name) and of the configuration, then local servers
 * that answer now, then everything else that is known.
 */
export async function scan(
  { program, env, clock }: Pick<SetupWorld, 'program' | 'env' | 'clock'>,
  config: Config,
): Promise<readonly Offer[]> {
  const { presets } = program;
  const local = await Promise.all(
    localServers(program).map(async ([provider, title]) => {
      const baseUrl = localAddress(provider, config, { program, env });
      const models = await listModels({ program, provider, baseUrl, apiKey: null, clock, timeoutMs: LOOK_MS });
      if (models.kind !== 'listed') return { provider, found: null };
      return { provider, found: `${title} runs here, ${plural(models.names.length, 'model')}` };
    }),
  );
  const configured = Object.entries(config.providers).map(([provider, { apiKey, kind }]) => {
    const variable = presets.get(provider)?.keyVariable ?? null;
    const isFromEnvironment = variable !== null && env[variable] !== undefined && env[variable] === apiKey;
    if (isFromEnvironment) return { provider, found: `${variable} is set` };
    if (apiKey !== null) return { provider, found: 'its key is configured' };
    return { provider, found: kind === undefined || variable !== null ? null : 'configured' };
  });
  const known = [...presets]
    .filter(([, preset]) => preset.needsBaseUrl !== true && preset.isScripted !== true)
    .map(([provider]) => ({ provider, found: null }));
  const all = [...configured, ...local, ...known];
  const found = all.filter((offer) => offer.found !== null);
  const rest = all.filter((offer) => offer.found === null);
  const order = [...presets.keys()];
  const place = ({ provider }: Offer): number => (order.indexOf(provider) + order.length) % order.length;
  const sorted = [...found.toSorted((a, b) => place(a) - place(b)), ...rest];
  return sorted.filter(({ provider }, at) => sorted.findIndex((other) => other.provider === provider) === at);
}

/** The servers on this machine that are looked for: their names, and how people call them. */
export function localServers({
  presets,
}: Pick<Program, 'presets'>): readonly (readonly [name: string, title: string])[] {
  return [...presets].flatMap(([name, { title }]) => (title === undefined ? [] : [[name, title] as const]));
}

/** Where a local server is; a variable of its own counts. Null: the preset's address. */
export function localAddress(
  provider: string,
  config: Config,
  { program, env }: Pick<SetupWorld, 'program' | 'env'>,
): string | null {
  const configured = Object.hasOwn(config.providers, provider) ? config.providers[provider]?.baseUrl : null;
  return configured ?? program.presets.get(provider)?.addressIn?.(env) ?? null;
}
