import {
  countText,
  configuredWindow,
  openProvider,
  presetOf,
  providerAddressOf,
  type VendorPlace,
} from '../../core/api-providers.ts';
import { deadline, systemRandom, type Config } from '../../core/api.ts';
import type { Setting, SetupWorld } from '../../core/api-setup.ts';
import { proveWindow, type WindowProof } from './prove-window.ts';
import { USUAL_WINDOW } from './usual-window.ts';
import { askWindow } from './window.ts';

/** A slow machine reads a long prompt for minutes; no one waits longer for a proof. */
const PROOF_MS = 180_000;
/**
 * Proves the context window with which Ollama loads a model, says in one sentence what was found, and returns what has to be
 * written. A smaller window than usual is raised where the model supports more; one that a person configured stays. Never
 * throws.
 */
export async function windowSettings(
  world: SetupWorld,
  config: Config,
  place: VendorPlace,
): Promise<readonly Setting[]> {
  const { provider, model, entry, apiKey } = place;
  const { tell, clock, program } = world;
  const preset = presetOf(program.presets, provider, entry);
  const baseUrl = providerAddressOf(provider, entry, preset);
  if (baseUrl === null) return [];
  const ref = `${provider}/${model}`;
  const windowWith = (configured: number | null): Promise<number | null> =>
    askWindow({ baseUrl, model, apiKey, configured, clock });
  const configured = configuredWindow(config, ref);
  const [now, usual] = [await windowWith(configured), await windowWith(USUAL_WINDOW)];
  if (now === null || usual === null) return [];
  tell.say(`Sending ${ref} a long prompt, to see whether it reads ${countText(now)} tokens …`);
  const found = await prove(world, place, now);
  const setting = `models."${ref}".contextWindow`;
  const write = (value: number): readonly Setting[] => [{ path: ['models', ref, 'contextWindow'], value }];
  if (found.kind === 'unknown') {
    tell.say(`How many tokens Ollama loads of ${model} could not be proven: ${found.reason}`);
    return [];
  }
  const loaded = found.kind === 'cut' ? found.tokens : now;
  if (configured !== null || loaded >= usual) {
    tellFound(tell, { model, now, found, limit: configured === null ? null : setting });
    return [];
  }
  const raised = now === usual ? found : await prove(world, place, usual);
  if (raised.kind === 'proven') {
    tell.good(
      `Ollama loaded only ${countText(loaded)} tokens of ${model}; it loads ${countText(usual)} now, as a prompt of ${countText(raised.tokens)} tokens proved (${setting}).`,
    );
    return write(usual);
  }
  const most = raised.kind === 'cut' ? raised.tokens : loaded;
  tell.bad(
    `Ollama loads only ${countText(most)} tokens of ${model} and drops the rest of a longer prompt without a word, so no more is sent (${setting}). If something stands between the assistant and Ollama, set providers.${provider}.baseUrl to Ollama’s own address and run this again.`,
  );
  return write(most);
}

function tellFound(
  tell: SetupWorld['tell'],
  { model, now, found, limit }: { model: string; now: number; found: WindowProof; limit: string | null },
): void {
  if (found.kind === 'cut') {
    tell.bad(
      `Ollama reads only ${countText(found.tokens)} of the ${countText(now)} tokens of ${limit} and drops the rest without a word: set it to ${found.tokens}.`,
    );
  } else if (found.kind === 'proven') {
    const why = limit === null ? '' : `, as ${limit} or agent.contextWindow says`;
    tell.good(
      `Ollama loads a window of ${countText(now)} tokens for ${model}${why}: it read a prompt of ${countText(found.tokens)} tokens to the end.`,
    );
  }
}

async function prove({ program, clock, signal }: SetupWorld, place: VendorPlace, window: number): Promise<WindowProof> {
  const { provider, model, entry, apiKey } = place;
  using limit = deadline(clock, PROOF_MS, 'reading a long prompt');
  const proof = await proveWindow({
    provider: openProvider(provider, entry, { apiKey, windowOf: () => window, program, clock }),
    model,
    window,
    marker: `ferry-${Buffer.from(systemRandom.bytes(4)).toString('hex')}`,
    signal: AbortSignal.any([limit.signal, signal]),
  });
  if (!limit.signal.aborted) return proof;
  return { kind: 'unknown', reason: `reading a long prompt took longer than ${PROOF_MS / 60_000} minutes.` };
}
