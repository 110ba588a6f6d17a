import * as z from 'zod';
import { cut, oneLine } from '../../core/api.ts';
import type { Media } from '../../core/api-clients.ts';
import type { Executed } from '../../core/api-tools.ts';
import { listOf } from './listing.ts';

/** Any answer: its pieces are read one by one, so that one that is unknown or broken doesn't cost the others. */
export const answerSchema = z.record(z.string(), z.unknown());
export type Answer = z.output<typeof answerSchema>;

const contents = z.union([
  z.object({ uri: z.string(), text: z.string() }),
  z.object({ uri: z.string(), blob: z.base64(), mimeType: z.string().default('') }),
]);
/** A block of an answer, the content of a resource, or a message of a prompt. */
const piece = z.union([
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.enum(['image', 'audio']), data: z.base64(), mimeType: z.string() }),
  z.object({ type: z.literal('resource_link'), uri: z.string(), name: z.string().default('') }),
  z.object({ type: z.literal('resource'), resource: contents }),
  z.object({ role: z.enum(['user', 'assistant']), content: z.unknown() }),
  contents,
]);

const MOST_FILES = 10;
const MOST_FILE_BYTES = 20_000_000;
/** Characters of a piece that no schema knows. */
const LONGEST_UNKNOWN = 4_000;

/** The result of a call, of a resource that was read, or of a prompt: texts as they are, files kept by `keep`. */
export async function resultOf(
  answer: Answer,
  keep: (bytes: Uint8Array, mediaType: string) => Promise<string>,
): Promise<Omit<Executed, 'title'>> {
  const { content, contents: read, messages, structuredContent: bare } = answer;
  const pieces = [content, read, messages].flatMap(listOf);
  if (pieces.length === 0 && bare !== undefined) return { output: JSON.stringify(bare, null, 2), untrusted: true };
  const media: Media[] = [];
  const kept = async (what: string, base64: string, given: string): Promise<string> => {
    const mediaType = /^[\w.+-]+\/[\w.+-]+$/u.test(given) ? given : 'application/octet-stream';
    const bytes = Buffer.from(base64, 'base64');
    const size = bytes.length;
    if (media.length >= MOST_FILES) return `[${what}, ${mediaType}: left out, after ${MOST_FILES} files]`;
    if (size > MOST_FILE_BYTES) return `[${what}, ${mediaType}: left out, it has ${size} bytes]`;
    const path = await keep(bytes, mediaType);
    const kind = (['image', 'audio', 'video'] as const).find((one) => mediaType.startsWith(`${one}/`)) ?? 'document';
    media.push({ kind, mediaType, path, size });
    return `[${what}, ${mediaType}, ${size} bytes: ${path}]`;
  };
  const textOf = async (given: unknown): Promise<string> => {
    const { data } = piece.safeParse(given);
    // The model may make something of it.
    if (data === undefined)
      return `[content in a form that is unknown here]\n${cut(JSON.stringify(given, null, 2) ?? '', LONGEST_UNKNOWN)}`;
    if ('role' in data) return `${data.role}: ${await textOf(data.content)}`;
    if ('resource' in data) return await textOf(data.resource);
    if ('data' in data) return await kept(data.type, data.data, data.mimeType);
    if ('blob' in data) return await kept(`resource ${data.uri}`, data.blob, data.mimeType);
    if (!('uri' in data)) return data.text;
    if ('text' in data) return `[resource ${data.uri}]\n${data.text}`;
    return `[resource ${data.uri}${data.name === '' ? '' : ` (${oneLine(data.name, 100)})`}]`;
  };
  const texts: string[] = [];
  for (const one of pieces) texts.push(await textOf(one));
  return { output: texts.join('\n\n'), untrusted: true, ...(media.length === 0 ? {} : { media }) };
}
