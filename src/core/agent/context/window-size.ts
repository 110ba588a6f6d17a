import { SMALL_WINDOW } from '../../providers/context-window-registry.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import type { ToolFacts } from '../../tools/tool.ts';
import { countText } from '../../util/text.ts';

/**
 * How much a model reads at once, in steps: what is sent with each message shrinks with them, so that it stays the same from
 * turn to turn. `small`: below 16,384 tokens; `tiny`: below 6,144.
 */
export type WindowSize = 'full' | 'small' | 'tiny';

/** Tokens. */
const TINY_WINDOW = 6_144;

export function sizeOfWindow(tokens: number): WindowSize {
  if (tokens >= SMALL_WINDOW) return 'full';
  return tokens >= TINY_WINDOW ? 'small' : 'tiny';
}

/** What is made of a list is kept with it: the same list for many turns is measured, hashed and rendered once. */
const small = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();
const tiny = new WeakMap<readonly ToolSpec[], readonly ToolSpec[]>();

/**
 * Those of the tools that fit beside a conversation, as they are described then: in a small window what people ask for most,
 * in a tiny one fewer of them, in a sentence each.
 */
export function toolsForSize(
  specs: readonly ToolSpec[],
  size: WindowSize,
  factsOf: (tool: string) => ToolFacts | undefined,
): readonly ToolSpec[] {
  if (size === 'full') return specs;
  const known = size === 'small' ? small : tiny;
  const made =
    known.get(specs) ??
    (size === 'small'
      ? specs.filter(({ name }) => factsOf(name)?.fits !== undefined)
      : specs.filter(({ name }) => factsOf(name)?.fits === 'tiny').map(inOneSentence));
  known.set(specs, made);
  return made;
}

/** The tool with the first sentence of its description, and with its parameters alone. */
function inOneSentence({ name, description, parameters }: ToolSpec): ToolSpec {
  return {
    name,
    description: /^.*?[.:](?=\s|$)/su.exec(description)?.[0] ?? description,
    parameters: bare(parameters),
  };
}

/** A JSON schema without the descriptions of its properties. */
function bare(schema: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(schema).flatMap(([key, value]) => {
      if (key === 'description' && typeof value === 'string') return [];
      if (Array.isArray(value)) return [[key, value.map((one: unknown) => (isRecord(one) ? bare(one) : one))]];
      return [[key, isRecord(value) ? bare(value) : value]];
    }),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** What a person is told when a small window takes tools away, with the step that changes it; null when it takes none. */
export function fewToolsSentence(
  model: string,
  { window, shown, all }: { readonly window: number; readonly shown: number; readonly all: number },
): string | null {
  if (shown === all) return null;
  const [has, needed] = [window, SMALL_WINDOW].map(countText);
  return `The context window of ${model} is ${has} tokens, so it is offered only ${shown} of ${all} tools. To offer all of them, set models."${model}".contextWindow to at least ${needed} in config.json and restart, or start its server with such a window (llama-server -c ${SMALL_WINDOW}).`;
}
