import { wellFormed } from '../util/well-formed.ts';
import { isImage, leftOut, readExchanges, type Exchange, type ImageType, type ToolMessage } from './exchanges.ts';
import type { ModelRequest, UserPart } from './provider.ts';
import { perObject } from './wire-json.ts';

export type { Exchange, ToolMessage };

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
  const { exchanges, idOf } = readExchanges(messages, { provider, model, legalId });
  return { system: joinSystem(system), exchanges, idOf };
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

/** Stands where an answer had nothing that may be replayed, so that roles go on alternating. */
export const EMPTY_ANSWER = '(no text)';

/** A tool's name as both APIs take it; models make up names that they do not. */
export function wireName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/gu, '_').slice(0, 64) || 'unknown';
}

/** Holds arguments that aren't a JSON object, so that the model sees what it wrote. APIs take nothing but objects. */
const NOT_AN_OBJECT = 'not_a_json_object';

/** The arguments as an object. */
export function argumentsObject(text: string): Record<string, unknown> {
  const value = parsedObject(text);
  if (value !== undefined) return { ...wellFormed(value) };
  return text.trim() === '' ? {} : { [NOT_AN_OBJECT]: text.toWellFormed() };
}

/** The arguments as the text of a JSON object, the model's own where it is one. */
export function legalArguments(text: string): string {
  const value = parsedObject(text);
  if (value === undefined) return JSON.stringify(argumentsObject(text));
  return Object.keys(value).length === 0 ? '{}' : text.toWellFormed();
}

function parsedObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The system prompt as a message; the same object for the same layers. */
export const systemMessage = {
  system: perObject((layers: readonly string[]) => ({ role: 'system' as const, content: joinSystem(layers) })),
  developer: perObject((layers: readonly string[]) => ({ role: 'developer' as const, content: joinSystem(layers) })),
};

const joinSystem = perObject((layers: readonly string[]) =>
  layers
    .filter((layer) => layer.trim() !== '')
    .join('\n\n---\n\n')
    .toWellFormed(),
);
