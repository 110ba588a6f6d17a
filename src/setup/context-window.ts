import type { Config } from '../core/config/schema.ts';
import { LEAST_WINDOW, SMALL_WINDOW } from '../core/providers/context-window-registry.ts';
import { asksWindowOf, presetOf, providerAddressOf } from '../core/providers/open-provider.ts';
import { askContextWindow, type ServerFacts } from '../core/providers/probe-context-window.ts';
import { quirkNote } from '../core/providers/quirks.ts';
import type { VendorPlace } from '../core/providers/vendor.ts';
import { countText } from '../core/util/text.ts';
import { Cancelled } from '../core/setup/asker.ts';
import type { Setting } from '../core/setup/save.ts';
import type { SetupWorld } from '../core/setup/world.ts';

/**
 * What has to be written about the context window of a model: its vendor may prove it. Of a server of one's own it says if
 * the window is small, and sends it the whole prompt. Throws only `Cancelled`.
 */
export async function windowSettings(
  world: SetupWorld,
  config: Config,
  place: VendorPlace,
): Promise<readonly Setting[]> {
  const { provider, model, entry, apiKey } = place;
  const { tell, clock, program } = world;
  const preset = presetOf(program.presets, provider, entry);
  const vendor = program.vendors[preset.api];
  if (vendor?.setUp !== undefined) return await vendor.setUp(world, config, place);
  const baseUrl = providerAddressOf(provider, entry, preset);
  if (baseUrl === null || !asksWindowOf(entry, preset, program.vendors)) return [];
  const onServer = ({ hasTools }: ServerFacts): void => {
    const note = hasTools ? null : quirkNote('no tools', model);
    if (note !== null) tell.bad(note);
  };
  const asked = { baseUrl, model, apiKey, headers: entry.headers, clock, onServer, configured: null };
  const window = await askContextWindow(program.vendors, preset.api, asked);
  if (window !== null && window < SMALL_WINDOW) tell.bad(smallWindow(`${provider}/${model}`, window));
  // Without a key it costs nothing.
  if (apiKey === null) await proveWhole(world, place);
  return [];
}

/** Sends a server that needs no key the real prompt with all tools, and says what became of it. */
async function proveWhole({ tell, tryWhole, signal }: SetupWorld, place: VendorPlace): Promise<void> {
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
