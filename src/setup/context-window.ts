import type { Config } from '../config/schema.ts';
import { USUAL_WINDOW } from '../providers/ollama/model.ts';
import { proveWindow, type WindowProof } from '../providers/ollama/prove-window.ts';
import {
  asksWindowOf,
  openProvider,
  presetOf,
  providerAddressOf,
  type ProviderConfig,
} from '../providers/open-provider.ts';
import { configuredWindow, LEAST_WINDOW, SMALL_WINDOW } from '../providers/context-window-registry.ts';
import { quirkNote } from '../providers/quirks.ts';
import { askContextWindow, type ServerFacts } from '../providers/probe-context-window.ts';
import { deadline } from '../util/clock.ts';
import { systemRandom } from '../util/random.ts';
import type { Setting } from './save.ts';
import { Cancelled } from './asker.ts';
import type { SetupWorld } from './world.ts';
import { countText } from '../util/text.ts';

/** A slow machine reads a long prompt for minutes; no one waits longer for a proof. */
const PROOF_MS = 180_000;

interface Place {
  readonly provider: string;
  readonly model: string;
  readonly entry: ProviderConfig;
  readonly apiKey: string | null;
}

/**
 * Proves the context window with which Ollama loads a model, says in one sentence what was found, and returns what has to be
 * written. A smaller window than usual is raised where the model supports more; one that a person configured stays. Of
 * other local servers it says if their window is small, and sends them the whole prompt. Throws only `Cancelled`.
 */
export async function windowSettings(world: SetupWorld, config: Config, place: Place): Promise<readonly Setting[]> {
  const { provider, model, entry, apiKey } = place;
  const { tell, clock } = world;
  const preset = presetOf(provider, entry);
  const baseUrl = providerAddressOf(provider, entry, preset);
  if (baseUrl === null) return [];
  const ref = `${provider}/${model}`;
  if (preset.api !== 'ollama') {
    const server = asksWindowOf(entry, preset);
    const onServer = ({ hasTools }: ServerFacts): void => {
      const note = hasTools ? null : quirkNote('no tools', model);
      if (note !== null) tell.bad(note);
    };
    const asked = { baseUrl, model, apiKey, clock, onServer };
    const window = server === undefined ? null : await askContextWindow({ ...asked, server });
    if (window !== null && window < SMALL_WINDOW) tell.bad(smallWindow(ref, window));
    // Without a key it costs nothing.
    if (server !== undefined && apiKey === null) await proveWhole(world, place);
    return [];
  }
  const windowWith = (configured: number | null): Promise<number | null> =>
    askContextWindow({ server: 'ollama', baseUrl, model, apiKey, configured, clock });
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

/** Sends a server that needs no key the real prompt with all tools, and says what became of it. */
async function proveWhole({ tell, tryWhole, signal }: SetupWorld, place: Place): Promise<void> {
  const { provider, model, entry } = place;
  const ref = `${provider}/${model}`;
  tell.say(`Sending ${ref} the whole prompt with its tools, which it reads for the first time …`);
  const { seconds, trouble } = await tryWhole({ agent: { model: ref }, providers: { [provider]: entry } }, signal);
  if (signal.aborted) throw new Cancelled();
  if (trouble === null) tell.good(`It answered in ${seconds.toFixed(1)} s; later answers are faster.`);
  else tell.bad(trouble);
}

function smallWindow(ref: string, window: number): string {
  const larger = `start its server with a larger window (llama-server -c 32768, vllm --max-model-len 32768, the context length in LM Studio)`;
  if (window < LEAST_WINDOW)
    return `${ref} reads only ${countText(window)} tokens at once, too few for any use: ${larger}.`;
  return `${ref} reads only ${countText(window)} tokens at once, so it gets fewer tools and forgets soon: ${larger}.`;
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

async function prove({ clock, signal }: SetupWorld, place: Place, window: number): Promise<WindowProof> {
  const { provider, model, entry, apiKey } = place;
  using limit = deadline(clock, PROOF_MS, 'reading a long prompt');
  const proof = await proveWindow({
    provider: openProvider(provider, entry, { apiKey, windowOf: () => window, clock }),
    model,
    window,
    marker: `ferry-${Buffer.from(systemRandom.bytes(4)).toString('hex')}`,
    signal: AbortSignal.any([limit.signal, signal]),
  });
  if (!limit.signal.aborted) return proof;
  return { kind: 'unknown', reason: `reading a long prompt took longer than ${PROOF_MS / 60_000} minutes.` };
}
