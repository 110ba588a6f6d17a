import type { Readable } from 'node:stream';
import * as z from 'zod';
import type { ChildReply, PageView } from './protocol.ts';
import { MOST_SNAPSHOT } from './protocol.ts';

/** Longest line; a screenshot is the longest thing that is said. */
const MOST_LINE = 12_000_000;
const MOST_BASE64 = 8_000_000;

const view = z.object({
  url: z.string().max(20_000),
  title: z.string().max(2_000),
  snapshot: z.string().max(MOST_SNAPSHOT),
  notes: z.array(z.string().max(500)).max(40),
}) satisfies z.ZodType<PageView>;

const reply = z.union([
  z.object({
    id: z.int(),
    view,
    image: z.base64().max(MOST_BASE64).exactOptional(),
    cookies: z.string().max(8_000).exactOptional(),
  }),
  z.object({ id: z.int(), error: z.string().max(1_000), view: view.exactOptional() }),
]) satisfies z.ZodType<ChildReply>;

/**
 * Calls back with each line that is an answer; `broken` once, when a line is too long. Other lines are ignored: nothing
 * that comes out of the sandbox is trusted.
 */
export function readReplies(
  from: Readable,
  { onReply, broken }: { readonly onReply: (reply: ChildReply) => void; readonly broken: () => void },
): void {
  let pieces: Buffer[] = [];
  let length = 0;
  const line = (bytes: Buffer): void => {
    const parsed = reply.safeParse(parse(bytes.toString('utf8')));
    if (parsed.success) onReply(parsed.data);
  };
  from.on('data', (piece: Buffer) => {
    let start = 0;
    for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, start)) {
      line(Buffer.concat([...pieces, piece.subarray(start, end)]));
      pieces = [];
      length = 0;
      start = end + 1;
    }
    pieces.push(piece.subarray(start));
    length += piece.length - start;
    if (length <= MOST_LINE) return;
    from.removeAllListeners('data');
    broken();
  });
  from.on('error', () => {});
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
