import type { ToolSpec } from '../../providers/provider.ts';
import { countText } from '../../util/text.ts';

/** Tokens. In a smaller context window all tools and a conversation do not fit together. */
export const SMALL_WINDOW = 16_000;

/** The tools that a model with a small window is offered: what people ask for most, in as few tokens as possible. */
const FEW: ReadonlySet<string> = new Set([
  'read_file',
  'write_file',
  'edit_file',
  'list_dir',
  'exec',
  'web_fetch',
  'message',
  'memory_write',
  'cron',
  'stay_silent',
]);

/** What is made of a list is kept with it: the same list for many turns is measured, hashed and rendered once. */
const known = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();

/** Those of the tools that a model with this window, in tokens, is offered. */
export function toolsForWindow(specs: readonly ToolSpec[], window: number): readonly ToolSpec[] {
  if (window >= SMALL_WINDOW) return specs;
  const few = known.get(specs) ?? specs.filter(({ name }) => FEW.has(name));
  known.set(specs, few);
  return few;
}

/** What a person is told when a small window takes tools away, with the step that changes it; null when it takes none. */
export function fewToolsSentence(
  model: string,
  { window, shown, all }: { readonly window: number; readonly shown: number; readonly all: number },
): string | null {
  if (shown === all) return null;
  const [has, needed] = [window, SMALL_WINDOW].map(countText);
  return `The context window of ${model} is ${has} tokens, so it is offered only ${shown} of ${all} tools. To offer all of them, set models."${model}".contextWindow to at least ${needed} in config.json and restart.`;
}
