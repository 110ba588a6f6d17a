import * as z from 'zod';
import type { Media } from '../../bus/messages.ts';
import { cut, oneLine } from '../../util/text.ts';
import type { ToolContext, ToolResult } from '../tool.ts';
import { listOf } from './listing.ts';

/** Keeps a file of a result where the session can read it; returns its path. */
export type KeepFile = (
  context: ToolContext,
  file: { readonly bytes: Uint8Array; readonly mediaType: string },
) => Promise<string>;

/**
 * Any answer: its pieces are looked at one by one, so that one that is unknown or broken doesn't cost the others.
 */
export const answerSchema = z.record(z.string(), z.unknown());
export type Answer = z.output<typeof answerSchema>;

const contentsSchema = z.union([
  z.object({ uri: z.string(), text: z.string() }),
  z.object({ uri: z.string(), blob: z.base64(), mimeType: z.string().default('') }),
]);
const blockSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'audio']), data: z.base64(), mimeType: z.string() }),
  z.object({ type: z.literal('resource'), resource: contentsSchema }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string().default('') }),
]);
const messageSchema = z.object({ role: z.enum(['user', 'assistant']), content: z.unknown() });

/** A piece of an answer: a text, or a file with its label. */
export interface Piece {
  /** Before it, on the same line. @default nothing */
  readonly lead?: string;
  readonly text: string;
  readonly file?: { readonly base64: string; readonly mediaType: string };
}

const MOST_FILES = 10;
const MOST_FILE_BYTES = 20_000_000;
/** Characters of a piece that no schema knows. */
const LONGEST_UNKNOWN = 4_000;

/** Of the answer to a call. */
export function callPieces(answer: Answer): readonly Piece[] {
  const content = listOf(answer['content']);
  const bare = answer['structuredContent'];
  if (content.length === 0 && bare !== undefined) return [{ text: JSON.stringify(bare, null, 2) }];
  return content.map(ofBlock);
}

export function resourcePieces(answer: Answer): readonly Piece[] {
  return listOf(answer['contents']).map(ofContents);
}

export function promptPieces(answer: Answer): readonly Piece[] {
  return listOf(answer['messages']).map((message) => {
    const { data } = messageSchema.safeParse(message);
    return data === undefined ? unknown(message) : { ...ofBlock(data.content), lead: `${data.role}: ` };
  });
}

function ofBlock(given: unknown): Piece {
  const { data: block } = blockSchema.safeParse(given);
  switch (block?.type) {
    case undefined:
      return unknown(given);
    case 'text':
      return { text: block.text };
    case 'image':
    case 'audio':
      return { text: block.type, file: { base64: block.data, mediaType: block.mimeType } };
    case 'resource':
      return ofContents(block.resource);
    case 'resource_link':
      return { text: `[resource ${block.uri}${block.name === '' ? '' : ` (${oneLine(block.name, 100)})`}]` };
  }
}

function ofContents(given: unknown): Piece {
  const { data } = contentsSchema.safeParse(given);
  if (data === undefined) return unknown(given);
  if ('text' in data) return { text: `[resource ${data.uri}]\n${data.text}` };
  return { text: `resource ${data.uri}`, file: { base64: data.blob, mediaType: data.mimeType } };
}

/** What a server sent in a form that isn't known here: the model may make something of it. */
function unknown(given: unknown): Piece {
  const text = cut(JSON.stringify(given, null, 2) ?? '', LONGEST_UNKNOWN);
  return { text: `[content in a form that is unknown here]\n${text}` };
}

/** The result of a call: texts as they are, files kept beside. */
export async function resultOf(
  pieces: readonly Piece[],
  call: { readonly title: string; readonly context: ToolContext; readonly keep: KeepFile },
): Promise<ToolResult> {
  const media: Media[] = [];
  const texts: string[] = [];
  for (const { lead = '', text, file } of pieces) {
    texts.push(`${lead}${file === undefined ? text : `[${text}, ${await kept(file, media, call)}]`}`);
  }
  return {
    title: oneLine(call.title, 80),
    output: texts.join('\n\n'),
    metadata: {},
    untrusted: true,
    ...(media.length === 0 ? {} : { media }),
  };
}

/** Keeps a file, adds it to `media`, and says what became of it. */
async function kept(
  { base64, mediaType: given }: NonNullable<Piece['file']>,
  media: Media[],
  { context, keep }: { readonly context: ToolContext; readonly keep: KeepFile },
): Promise<string> {
  const mediaType = /^[\w.+-]+\/[\w.+-]+$/u.test(given) ? given : 'application/octet-stream';
  if (media.length >= MOST_FILES) return `${mediaType}: left out, after ${MOST_FILES} files`;
  const bytes = Buffer.from(base64, 'base64');
  const size = bytes.length;
  if (size > MOST_FILE_BYTES) return `${mediaType}: left out, it has ${size} bytes`;
  const path = await keep(context, { bytes, mediaType });
  const kind = (['image', 'audio', 'video'] as const).find((one) => mediaType.startsWith(`${one}/`)) ?? 'document';
  media.push({ kind, mediaType, path, size });
  return `${mediaType}, ${size} bytes: ${path}`;
}
