import type { AssistantPart, ModelMessage, ModelRequest, ReasoningPart, UserPart } from './provider.ts';

export type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

/** What the model wrote, and everything that came after it until it wrote again. */
export interface Exchange {
  /** Null where the transcript begins. */
  readonly assistant: readonly AssistantPart[] | null;
  readonly results: readonly ToolMessage[];
  readonly user: readonly UserPart[];
}

/** What an API is sent of a request, before it is put in the API's own words. */
export interface WireRequest {
  /** The layers of the system prompt in one text; empty when there are none. */
  readonly system: string;
  readonly exchanges: readonly Exchange[];
  /** The id of a call on the wire, by our call id. */
  readonly idOf: (callId: string) => string;
}

/** `provider` is the key in `config.providers`: only its own reasoning is replayed; `legalId` is what the API takes for the id of a call. */
export function wireRequest(
  { messages, system, model }: ModelRequest,
  { provider, legalId }: { readonly provider: string; readonly legalId: RegExp },
): WireRequest {
  const ids = wireIds(messages, legalId);
  return {
    system: joinSystem(system),
    exchanges: toExchanges(messages, { provider, model }),
    idOf: (callId) => ids.get(callId) ?? callId,
  };
}

/** What a tool said, for APIs that take no empty text. */
export function outputText({ output }: ToolMessage): string {
  return output.trim() === '' ? '(no output)' : output;
}

/** Text, or an image that an API takes; an image of another kind, or one that was not read, is a text that says so. */
export function readablePart(
  part: UserPart,
):
  | Extract<UserPart, { type: 'text' }>
  | { readonly type: 'image'; readonly mediaType: ImageType; readonly data: string } {
  if (part.type === 'text') return part;
  const { mediaType } = part;
  if (isImage(mediaType) && 'data' in part) return { type: 'image', mediaType, data: part.data };
  return { type: 'text', text: leftOut(mediaType) };
}

/**
 * Cuts a legal transcript into exchanges: neighbouring messages of one side become one, tool results first. Blank
 * texts and reasoning of another provider or model are left out, lone surrogates replaced.
 */
function toExchanges(messages: readonly ModelMessage[], owner: ReasoningOwner): readonly Exchange[] {
  let current: { assistant: AssistantPart[] | null; results: ToolMessage[]; user: UserPart[] };
  current = { assistant: null, results: [], user: [] };
  const exchanges = [current];
  for (const message of messages) {
    switch (message.role) {
      case 'assistant':
        if (current.assistant === null || current.results.length + current.user.length > 0) {
          current = { assistant: [], results: [], user: [] };
          exchanges.push(current);
        }
        current.assistant?.push(...message.content.flatMap((part) => cleanAssistantPart(part, owner)));
        break;
      case 'tool':
        current.results.push({ ...message, output: message.output.toWellFormed() });
        break;
      case 'user':
        current.user.push(...cleanUserParts(message.content));
        break;
    }
  }
  return exchanges;
}

/** Whose reasoning may be replayed. */
interface ReasoningOwner {
  readonly provider: string;
  readonly model: string;
}

function cleanAssistantPart(part: AssistantPart, owner: ReasoningOwner): AssistantPart[] {
  if (part.type === 'text') return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }];
  return part.type === 'tool-call' || isOwn(part, owner) ? [part] : [];
}

function isOwn(part: ReasoningPart, owner: ReasoningOwner): boolean {
  return part.provider === owner.provider && part.model === owner.model;
}

/** A message that says nothing keeps its place, so that what follows does not move. */
function cleanUserParts(parts: readonly UserPart[]): readonly UserPart[] {
  const kept = parts.flatMap((part): UserPart[] => {
    if (part.type === 'image')
      return [isImage(part.mediaType) ? part : { type: 'text', text: leftOut(part.mediaType) }];
    return part.text.trim() === '' ? [] : [{ type: 'text', text: part.text.toWellFormed() }];
  });
  return kept.length > 0 ? kept : [{ type: 'text', text: '(an empty message)' }];
}

/** Stands where an answer had nothing that may be replayed, so that roles go on alternating. */
export const EMPTY_ANSWER = '(no text)';

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;

type ImageType = (typeof IMAGE_TYPES)[number];

/** The kinds of images that both APIs take. */
function isImage(mediaType: string): mediaType is ImageType {
  return IMAGE_TYPES.some((type) => type === mediaType);
}

function leftOut(mediaType: string): string {
  return `(an image of type ${mediaType.toWellFormed()} was left out: the model cannot read it)`;
}

/**
 * The id of each call on the wire, by our call id: the provider's own where it is legal and new in this transcript,
 * else one made from ours. Depends on nothing after the call, so that a growing transcript keeps its bytes.
 */
function wireIds(messages: readonly ModelMessage[], legal: RegExp): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  const used = new Set<string>();
  for (const message of messages) {
    if (message.role !== 'assistant') continue;
    for (const part of message.content) {
      if (part.type !== 'tool-call') continue;
      const own = part.providerCallId;
      const id = legal.test(own) && !used.has(own) ? own : derivedId(part.callId, { used, legal });
      ids.set(part.callId, id);
      used.add(id);
    }
  }
  return ids;
}

function derivedId(callId: string, { used, legal }: { used: ReadonlySet<string>; legal: RegExp }): string {
  const base = callId.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(-40) || 'call';
  // Where only short ids without signs are legal, a number stands for ours.
  const short = !legal.test(base);
  let id = short ? shortId(base, 1) : base;
  for (let n = 2; used.has(id); n += 1) id = short ? shortId(base, n) : `${base.slice(0, 39 - String(n).length)}-${n}`;
  return id;
}

/** Nine letters and digits that depend on nothing but `base` and `n`. */
function shortId(base: string, n: number): string {
  let sum = 5381n;
  for (const character of `${base}#${n}`) sum = (sum * 33n + BigInt(character.codePointAt(0) ?? 0)) % 36n ** 9n;
  return sum.toString(36).padStart(9, '0');
}

/** A tool's name as both APIs take it; models make up names that they do not. */
export function wireName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, 64) || 'unknown';
}

/** The arguments as an object; an empty one where the model wrote something else. */
export function argumentsObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? wellFormedObject(value) : {};
  } catch {
    return {};
  }
}

/** The model's own text where it is a JSON object. */
export function legalArguments(text: string): string {
  return Object.keys(argumentsObject(text)).length === 0 ? '{}' : text.toWellFormed();
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function wellFormedObject(value: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key.toWellFormed(), wellFormed(item)]));
}

function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  return isObject(value) ? wellFormedObject(value) : value;
}

function joinSystem(layers: readonly string[]): string {
  return layers
    .filter((layer) => layer.trim() !== '')
    .join('\n\n---\n\n')
    .toWellFormed();
}
