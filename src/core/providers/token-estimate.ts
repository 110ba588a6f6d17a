import type { ModelMessage, ToolSpec, UserPart } from './provider.ts';

/** Bytes of UTF-8 per token, on average. Bytes estimate better than characters across scripts. */
const BYTES_PER_TOKEN = 3.6;
/** Tokens for the role and separators of a message. */
const MESSAGE_TOKENS = 4;
/** Tokens of a large image: providers count the area, not the bytes. */
export const IMAGE_TOKENS = 1600;

/** Tokens of a text, before calibration. */
export function tokensOfText(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}

/** Tokens before calibration. */
export function tokensOfMessage(message: ModelMessage): number {
  switch (message.role) {
    case 'user':
      return MESSAGE_TOKENS + sum(message.content, tokensOfPart);
    case 'tool':
      return MESSAGE_TOKENS + tokensOfText(message.output) + (message.images ?? []).length * IMAGE_TOKENS;
    case 'assistant':
      return (
        MESSAGE_TOKENS +
        sum(message.content, (part) => {
          if (part.type === 'text') return tokensOfText(part.text);
          if (part.type === 'tool-call') return MESSAGE_TOKENS + tokensOfText(part.name) + tokensOfText(part.arguments);
          return tokensOfText(part.data === null ? part.text : JSON.stringify(part.data));
        })
      );
  }
}

function tokensOfPart(part: UserPart): number {
  return part.type === 'image' ? IMAGE_TOKENS : tokensOfText(part.text);
}

function sum<Item>(items: readonly Item[], size: (item: Item) => number): number {
  let total = 0;
  for (const item of items) total += size(item);
  return total;
}

const frameSizes = new WeakMap<object, number>();

/** Tokens of the system prompt and the tools, before calibration; cached by object. */
export function tokensOfFrame(system: readonly string[], tools: readonly ToolSpec[]): number {
  const size = (of: object, measure: () => number): number => {
    const known = frameSizes.get(of) ?? measure();
    frameSizes.set(of, known);
    return known;
  };
  return size(tools, () => tokensOfText(JSON.stringify(tools))) + size(system, () => sum(system, tokensOfText));
}
