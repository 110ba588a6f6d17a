import type { Readable } from 'node:stream';
import * as z from 'zod';
import { ByteLines } from '../../core/api-sandbox.ts';
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
  const lines = new ByteLines(MOST_LINE);
  let isBroken = false;
  from.on('data', (piece: Buffer) => {
    const complete = isBroken ? [] : lines.push(piece);
    for (const line of complete ?? []) {
      const parsed = reply.safeParse(parse(line));
      if (parsed.success) onReply(parsed.data);
    }
    if (complete !== undefined) return;
    isBroken = true;
    broken();
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
