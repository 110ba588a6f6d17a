import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import * as z from 'zod';
import { readIfExists } from './files.ts';

/** An old mark: the hash of a content, or a time in which all changed files were untrusted. */
const lineSchema = z.union([
  z.object({ v: z.literal(1), hash: z.string() }),
  z.object({ v: z.literal(1), span: z.string(), from: z.number() }),
  z.object({ v: z.literal(1), span: z.string(), to: z.number() }),
]);

/** Limits for looking through the workspace. */
const MOST_ENTRIES = 100_000;
const MOST_BYTES = 1024 * 1024 * 1024;
/** Larger files were never marked by their content. */
const LARGEST = 50 * 1024 * 1024;
/** File systems stamp with a coarser clock, ms. */
const SLACK_MS = 50;

interface OldMarks {
  readonly hashes: ReadonlySet<string>;
  readonly spans: readonly { readonly from: number; readonly to: number }[];
}

interface FoundMark {
  readonly path: string;
  readonly isFolder?: boolean;
}

/**
 * The files of the workspace that the marks of an earlier version cover, which went by content and by time of change;
 * relative to the workspace. Entries of the workspace that there is no room to look through are listed whole. Null: there
 * are no old marks.
 */
export async function oldMarks(
  file: string,
  {
    workspace,
    log,
    most = { entries: MOST_ENTRIES, bytes: MOST_BYTES },
  }: {
    readonly workspace: string;
    /** A file that says itself whether it is untrusted. */
    readonly log: string;
    readonly most?: { readonly entries: number; readonly bytes: number };
  },
): Promise<readonly FoundMark[] | null> {
  const text = await readIfExists(file);
  if (text === undefined) return null;
  const old = parse(text);
  const left = { ...most };
  const found: FoundMark[] = [];
  const tops = await readdir(workspace, { withFileTypes: true }).catch(() => []);
  for (const top of tops.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(workspace, top.name);
    const below = await look(path, old, { left, log });
    found.push(...(below ?? [{ path, isFolder: top.isDirectory() }]));
  }
  return found.map((mark) => ({ ...mark, path: relative(workspace, mark.path) }));
}

/** The untrusted files at or below a path; null: there is no room to look at them all. */
async function look(
  top: string,
  { hashes, spans }: OldMarks,
  { left, log }: { readonly left: { entries: number; bytes: number }; readonly log: string },
): Promise<readonly FoundMark[] | null> {
  const found: FoundMark[] = [];
  const waiting = [top];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    left.entries -= 1;
    if (left.entries < 0) return null;
    const info = await lstat(path).catch(() => null);
    if (info?.isDirectory() === true) {
      for (const name of await readdir(path).catch(() => [])) waiting.push(join(path, name));
    }
    if (info?.isFile() !== true || info.size === 0 || path === log) continue;
    const { ctimeMs, size } = info;
    const isInSpan = spans.some(({ from, to }) => from - SLACK_MS <= ctimeMs && ctimeMs <= to + SLACK_MS);
    if (isInSpan) found.push({ path });
    else if (hashes.size > 0 && size <= LARGEST) {
      left.bytes -= size;
      if (left.bytes < 0) return null;
      const hash = await hashOf(path).catch(() => null);
      // What can't be read may be any of them.
      if (hash === null || hashes.has(hash)) found.push({ path });
    }
  }
  return found;
}

/** A span that never ended lasts until now. */
function parse(text: string): OldMarks {
  const hashes = new Set<string>();
  const spans = new Map<string, { from: number; to: number }>();
  for (const line of text.split('\n')) {
    const mark = parseLine(line);
    if (mark === undefined) continue;
    if ('hash' in mark) hashes.add(mark.hash);
    else if ('from' in mark) spans.set(mark.span, { from: mark.from, to: Number.POSITIVE_INFINITY });
    else {
      const span = spans.get(mark.span);
      if (span !== undefined) span.to = mark.to;
    }
  }
  return { hashes, spans: [...spans.values()] };
}

function parseLine(line: string): z.infer<typeof lineSchema> | undefined {
  try {
    return lineSchema.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined;
  }
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const part of createReadStream(path)) hash.update(part as Buffer);
  return hash.digest('hex');
}
