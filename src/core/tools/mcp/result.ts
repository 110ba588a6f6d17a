import * as z from 'zod';
import type { Media } from '../../bus/messages.ts';
import { cut, oneLine } from '../../util/text.ts';
import type { ToolContext, ToolResult } from '../tool.ts';
import type { CallAnswer, PromptAnswer, ResourceAnswer } from './connection.ts';

/** Keeps a file of a result where the session can read it; returns its path. */
export type KeepFile = (
  context: ToolContext,
  file: { readonly bytes: Uint8Array; readonly mediaType: string },
) => Promise<string>;

export interface AnsweredCall {
  readonly server: string;
  /** What was asked: the tool, `read_resource`, … */
  readonly what: string;
  readonly context: ToolContext;
  readonly keep: KeepFile;
}

const contentsSchema = z.union([
  z.object({ uri: z.string(), text: z.string() }),
  z.object({ uri: z.string(), blob: z.base64(), mimeType: z.string().optional() }),
]);
const blockSchema = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.enum(['image', 'audio']), data: z.base64(), mimeType: z.string() }),
  z.looseObject({ type: z.literal('resource'), resource: contentsSchema }),
  z.looseObject({ type: z.literal('resource_link'), uri: z.string(), name: z.string().default('') }),
]);
const messageSchema = z.looseObject({ role: z.enum(['user', 'assistant']), content: z.unknown() });
type Contents = z.output<typeof contentsSchema>;

interface Piece {
  readonly text: string;
  readonly media?: Media;
}

const MOST_FILES = 10;
const MOST_FILE_BYTES = 20_000_000;
/** Characters of a piece that no schema knows. */
const LONGEST_UNKNOWN = 4_000;

/** A server's answer to a call: texts as they are, files kept beside, its own errors as errors. */
export async function callResult(result: CallAnswer, call: AnsweredCall): Promise<ToolResult> {
  const pieces = await each(result.content, (block, space) => blockPiece(block, call, space));
  const { structuredContent } = result;
  const isBare = pieces.length === 0 && structuredContent !== undefined;
  const shown = isBare ? [{ text: JSON.stringify(structuredContent, null, 2) }] : pieces;
  return { ...together(shown, call), ...(result.isError === true ? { isError: true } : {}) };
}

export async function resourceResult(result: ResourceAnswer, call: AnsweredCall): Promise<ToolResult> {
  const pieces = await each(result.contents, async (contents, space) => {
    const known = contentsSchema.safeParse(contents);
    return known.success ? await contentsPiece(known.data, call, space) : unknownPiece(contents);
  });
  return together(pieces, call);
}

export async function promptResult(result: PromptAnswer, call: AnsweredCall): Promise<ToolResult> {
  const pieces = await each(result.messages, async (message, space) => {
    const known = messageSchema.safeParse(message);
    if (!known.success) return unknownPiece(message);
    const { role, content } = known.data;
    const piece = await blockPiece(content, call, space);
    return { ...piece, text: `${role}: ${piece.text}` };
  });
  return together(pieces, call);
}

/** A list of what can be asked for, a line each. */
export function listResult(
  offered: readonly { readonly id: string; readonly about: string }[],
  call: AnsweredCall,
): ToolResult {
  const lines = offered.map(({ id, about }) => (about === '' ? id : `${id}: ${oneLine(about, 300)}`));
  return together([{ text: lines.length === 0 ? 'There are none.' : lines.join('\n') }], call);
}

async function each<T>(
  items: readonly T[],
  toPiece: (item: T, hasSpace: boolean) => Promise<Piece>,
): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  for (const item of items) {
    const files = pieces.filter(({ media }) => media !== undefined).length;
    pieces.push(await toPiece(item, files < MOST_FILES));
  }
  return pieces;
}

function together(pieces: readonly Piece[], { server, what }: AnsweredCall): ToolResult {
  const media = pieces.flatMap((piece) => piece.media ?? []);
  return {
    title: oneLine(`${server}: ${what}`, 80),
    output: pieces.map(({ text }) => text).join('\n\n'),
    metadata: {},
    untrusted: true,
    ...(media.length === 0 ? {} : { media }),
  };
}

async function blockPiece(given: unknown, call: AnsweredCall, hasSpace: boolean): Promise<Piece> {
  const known = blockSchema.safeParse(given);
  if (!known.success) return unknownPiece(given);
  const block = known.data;
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'image':
    case 'audio':
      return await filePiece(
        block.type,
        { base64: block.data, mediaType: block.mimeType },
        { call, hasRoom: hasSpace },
      );
    case 'resource':
      return await contentsPiece(block.resource, call, hasSpace);
    case 'resource_link':
      return { text: `[resource ${block.uri}${block.name === '' ? '' : ` (${oneLine(block.name, 100)})`}]` };
  }
}

/** What a server sent in a form that is not known here: the model may make something of it. */
function unknownPiece(given: unknown): Piece {
  return {
    text: `[content in a form that is unknown here]\n${cut(JSON.stringify(given, null, 2) ?? '', LONGEST_UNKNOWN)}`,
  };
}

async function contentsPiece(contents: Contents, call: AnsweredCall, hasSpace: boolean): Promise<Piece> {
  if ('text' in contents) return { text: `[resource ${contents.uri}]\n${contents.text}` };
  const mediaType = contents.mimeType ?? 'application/octet-stream';
  return await filePiece(`resource ${contents.uri}`, { base64: contents.blob, mediaType }, { call, hasRoom: hasSpace });
}

async function filePiece(
  label: string,
  file: { readonly base64: string; readonly mediaType: string },
  { call, hasRoom: hasSpace }: { readonly call: AnsweredCall; readonly hasRoom: boolean },
): Promise<Piece> {
  const mediaType = /^[\w.+-]+\/[\w.+-]+$/u.test(file.mediaType) ? file.mediaType : 'application/octet-stream';
  const about = `${label}, ${mediaType}`;
  if (!hasSpace) return { text: `[${about}: left out, after ${MOST_FILES} files]` };
  const bytes = Buffer.from(file.base64, 'base64');
  const size = bytes.length;
  if (size > MOST_FILE_BYTES) return { text: `[${about}: left out, it has ${size} bytes]` };
  const path = await call.keep(call.context, { bytes, mediaType });
  return { text: `[${about}, ${size} bytes: ${path}]`, media: { kind: kindOf(mediaType), mediaType, path, size } };
}

function kindOf(mediaType: string): Media['kind'] {
  const [kind] = mediaType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}
