import type { Config } from '../config/schema.ts';
import { askContextWindow } from '../providers/probe-context-window.ts';
import { findPreset } from '../providers/presets.ts';
import type { Setting } from './save.ts';
import type { SetupWorld } from './world.ts';

/** Tokens. Below this all tools and a conversation do not fit together. */
const ENOUGH = 16_000;

/** The tools that fit into a small context window beside a conversation. */
const FEW_TOOLS = ['read_file', 'write_file', 'list_dir', 'exec', 'web_fetch', 'ask_user', 'cron', 'memory_*'];

/**
 * What has to be written about the context window of a model that Ollama has just loaded. Ollama loads fewer tokens than the
 * model was trained for unless it is told otherwise, and cuts longer prompts off without a word; once the model is
 * unloaded it names the larger number. What a person configured is not touched. Never throws.
 */
export async function windowSettings(
  { tell, clock }: SetupWorld,
  { models, tools }: Config,
  {
    provider,
    model,
    baseUrl,
    apiKey,
  }: {
    readonly provider: string;
    readonly model: string;
    readonly baseUrl: string | null;
    readonly apiKey: string | null;
  },
): Promise<readonly Setting[]> {
  const preset = findPreset(provider);
  const address = baseUrl ?? preset?.baseUrl ?? null;
  if (preset?.asksWindow !== 'ollama' || address === null) return [];
  const loaded = await askContextWindow({ server: 'ollama', baseUrl: address, model, apiKey, clock });
  if (loaded === null) return [];
  const ref = `${provider}/${model}`;
  const configured = Object.hasOwn(models, ref) ? (models[ref]?.contextWindow ?? null) : null;
  if (configured !== null && configured < loaded) {
    tell.say(`Ollama loads ${loaded} tokens of ${model}; models."${ref}".contextWindow limits it to ${configured}.`);
  }
  if (loaded >= ENOUGH) return [];
  tell.bad(
    `Ollama loads only ${loaded} tokens of ${model}, which is little: longer conversations are forgotten early, and only a few tools are switched on. To change that start Ollama with OLLAMA_CONTEXT_LENGTH=32768, remove models and tools.allow from config.json, and run this again.`,
  );
  const hasAll = tools.allow.length === 1 && tools.allow[0] === '*';
  return [
    ...(configured === null ? [{ path: ['models', ref, 'contextWindow'], value: loaded }] : []),
    ...(hasAll ? [{ path: ['tools', 'allow'], value: FEW_TOOLS }] : []),
  ];
}
