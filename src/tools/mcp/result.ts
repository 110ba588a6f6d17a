import type { CallToolResult, GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/sdk/types.js';
import type { Media } from '../../bus/messages.ts';
import { oneLine } from '../../util/text.ts';
import type { ToolContext, ToolResult } from '../tool.ts';

/** Keeps a file of a result where the session can read it; returns its path. */
export type KeepFile = (
  context: ToolContext,
  file: { readonly bytes: Uint8Array; readonly mediaType: string },
) => Promise<string>;

export interface ResultParts {
  readonly server: string;
  /** What was asked: the tool, `read_resource`, … */
  readonly what: string;
  readonly context: ToolContext;
  readonly keep: KeepFile;
}

type Block = CallToolResult['content'][number];
type Contents = ReadResourceResult['contents'][number];

interface Piece {
  readonly text: string;
  readonly media?: Media;
}

const MOST_FILES = 10;
const MOST_FILE_BYTES = 20_000_000;

/** A server's answer to a call: texts as they are, files kept beside, its own errors as errors. */
export async function callResult(result: CallToolResult, parts: ResultParts): Promise<ToolResult> {
  const pieces = await each(result.content, (block, room) => blockPiece(block, parts, room));
  const { structuredContent } = result;
  const isBare = pieces.length === 0 && structuredContent !== undefined;
  const shown = isBare ? [{ text: JSON.stringify(structuredContent, null, 2) }] : pieces;
  return { ...together(shown, parts), ...(result.isError === true ? { isError: true } : {}) };
}

export async function resourceResult(result: ReadResourceResult, parts: ResultParts): Promise<ToolResult> {
  return together(await each(result.contents, (contents, room) => contentsPiece(contents, parts, room)), parts);
}

export async function promptResult(result: GetPromptResult, parts: ResultParts): Promise<ToolResult> {
  const pieces = await each(result.messages, async ({ role, content }, room) => {
    const piece = await blockPiece(content, parts, room);
    return { ...piece, text: `${role}: ${piece.text}` };
  });
  return together(pieces, parts);
}

/** A list of what can be asked for, a line each. */
export function listResult(
  offered: readonly { readonly id: string; readonly about: string }[],
  parts: ResultParts,
): ToolResult {
  const lines = offered.map(({ id, about }) => (about === '' ? id : `${id}: ${oneLine(about, 300)}`));
  return together([{ text: lines.length === 0 ? 'There are none.' : lines.join('\n') }], parts);
}

async function each<T>(
  items: readonly T[],
  toPiece: (item: T, hasRoom: boolean) => Promise<Piece>,
): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  for (const item of items) {
    const files = pieces.filter(({ media }) => media !== undefined).length;
    pieces.push(await toPiece(item, files < MOST_FILES));
  }
  return pieces;
}

function together(pieces: readonly Piece[], { server, what }: ResultParts): ToolResult {
  const media = pieces.flatMap((piece) => piece.media ?? []);
  return {
    title: oneLine(`${server}: ${what}`, 80),
    output: pieces.map(({ text }) => text).join('\n\n'),
    metadata: {},
    untrusted: true,
    ...(media.length === 0 ? {} : { media }),
  };
}

async function blockPiece(block: Block, parts: ResultParts, hasRoom: boolean): Promise<Piece> {
  switch (block.type) {
    case 'text':
      return { text: block.text };
    case 'image':
    case 'audio':
      return await filePiece(block.type, { base64: block.data, mediaType: block.mimeType }, { parts, hasRoom });
    case 'resource':
      return await contentsPiece(block.resource, parts, hasRoom);
    case 'resource_link':
      return { text: `[resource ${block.uri}${block.name === '' ? '' : ` (${oneLine(block.name, 100)})`}]` };
  }
}

async function contentsPiece(contents: Contents, parts: ResultParts, hasRoom: boolean): Promise<Piece> {
  if ('text' in contents) return { text: `[resource ${contents.uri}]\n${contents.text}` };
  const mediaType = contents.mimeType ?? 'application/octet-stream';
  return await filePiece(`resource ${contents.uri}`, { base64: contents.blob, mediaType }, { parts, hasRoom });
}

async function filePiece(
  label: string,
  file: { readonly base64: string; readonly mediaType: string },
  { parts, hasRoom }: { readonly parts: ResultParts; readonly hasRoom: boolean },
): Promise<Piece> {
  const mediaType = /^[\w.+-]+\/[\w.+-]+$/u.test(file.mediaType) ? file.mediaType : 'application/octet-stream';
  const about = `${label}, ${mediaType}`;
  if (!hasRoom) return { text: `[${about}: left out, after ${MOST_FILES} files]` };
  const bytes = Buffer.from(file.base64, 'base64');
  const size = bytes.length;
  if (size > MOST_FILE_BYTES) return { text: `[${about}: left out, it has ${size} bytes]` };
  const path = await parts.keep(parts.context, { bytes, mediaType });
  return { text: `[${about}, ${size} bytes: ${path}]`, media: { kind: kindOf(mediaType), mediaType, path, size } };
}

function kindOf(mediaType: string): Media['kind'] {
  const [kind] = mediaType.split('/');
  return kind === 'image' || kind === 'audio' || kind === 'video' ? kind : 'document';
}
