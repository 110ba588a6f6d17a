import { oneLine } from '../../core/api.ts';

/** Where two request bodies differ first. */
export interface Difference {
  /** Offset in the UTF-8 bytes of the body. */
  readonly byte: number;
  /** The part of the request, such as `tools` or `message 3 of the conversation`. */
  readonly layer: string;
  /** What stands there in the recorded body, and in the one that is built now. */
  readonly recorded: string;
  readonly now: string;
}

const SHOWN_BEFORE = 20;
const SHOWN = 80;

/** The first byte at which two JSON bodies differ, and its layer; null: they are the same. `layers`: the system prompt's. */
export function differenceOf(recorded: string, now: string, layers: readonly string[]): Difference | null {
  if (recorded === now) return null;
  let at = 0;
  while (at < recorded.length && recorded[at] === now[at]) at += 1;
  const from = Math.max(0, at - SHOWN_BEFORE);
  return {
    byte: Buffer.byteLength(recorded.slice(0, at)),
    layer: layerAt(JSON.parse(recorded), JSON.parse(now), { recorded, layers }),
    recorded: oneLine(recorded.slice(from, at + SHOWN), SHOWN + SHOWN_BEFORE),
    now: oneLine(now.slice(from, at + SHOWN), SHOWN + SHOWN_BEFORE),
  };
}

function layerAt(
  before: unknown,
  after: unknown,
  { recorded, layers }: { readonly recorded: string; readonly layers: readonly string[] },
): string {
  const path = firstPath(before, after);
  const [top = '', index = ''] = path;
  const isSystem =
    ['system', 'instructions'].includes(top) ||
    (isConversation(top) && ['system', 'developer'].includes(roleAt(before, path)));
  if (isSystem) {
    const layer = layers.findIndex((text) => !recorded.includes(JSON.stringify(text.trim()).slice(1, -1)));
    return layer === -1
      ? 'system prompt'
      : `layer ${layer + 1} of the system prompt (${headingOf(layers[layer] ?? '')})`;
  }
  if (top === 'tools') return 'tools';
  if (isConversation(top)) return index === '' ? 'conversation' : `message ${Number(index) + 1} of the conversation`;
  return top === '' ? 'order of the fields' : `setting ${top}`;
}

/** The first line of a layer, which names it: `AGENTS.md`. */
function headingOf(layer: string): string {
  return oneLine(layer.trim().split('\n')[0] ?? '', 60).replace(/^#+ /u, '');
}

function isConversation(top: string): boolean {
  return top === 'messages' || top === 'input';
}

function roleAt(body: unknown, [top = '', index = '']: readonly string[]): string {
  const role = fieldOf(fieldOf(fieldOf(body, top), index), 'role');
  return typeof role === 'string' ? role : '';
}

function fieldOf(value: unknown, name: string): unknown {
  return isObject(value) ? value[name] : undefined;
}

function firstPath(before: unknown, after: unknown): readonly string[] {
  if (!isObject(before) || !isObject(after)) return [];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  for (const name of names) {
    if (JSON.stringify(before[name]) !== JSON.stringify(after[name])) {
      return [name, ...firstPath(before[name], after[name])];
    }
  }
  return [];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
