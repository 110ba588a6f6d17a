import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { lstat, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { contentsUnder, type Item } from '../../backup/contents.ts';
import { tapeName } from '../../core/session/tape-name.ts';
import { ifThere } from '../../core/storage/files.ts';
import { factsOf, type HomeFiles, isKept } from './file-changes.ts';
import type { HomeTapes } from './home-tapes.ts';
import type { HomeWriter } from './home-writer.ts';
import { type Lease, WRITTEN } from './lease.ts';
import type { Postgres } from './postgres.ts';

const sealSchema = z.object({ boot: z.string(), revision: z.number(), written: z.number(), facts: z.string() });

/**
 * Says that a copy was closed in order, with all that PostgreSQL has of the home and nothing else: after which write transaction,
 * and what tells whether a file was touched since. It holds until the machine starts again, because a copy is not synced.
 */
type Seal = z.output<typeof sealSchema>;

const SEAL = 'store-copy.json';

/** A copy, absolute paths: the home's folder, and its journal. */
interface Place {
  readonly folder: string;
  readonly state: string;
  /** See `bootId`. */
  readonly boot: string | null;
}

/**
 * Takes the seal of a copy away, before anything of it changes; call it before a durable change in the folder. Resolves with its
 * files when it held, so that the copy needs no comparison: nothing was written to PostgreSQL and nothing changed in the folder. Null: it did not.
 */
export async function openSeal(
  { folder, state, boot }: Place,
  { claimed: { revision, written } }: Lease,
): Promise<readonly Item[] | null> {
  const path = join(folder, SEAL);
  const text = await ifThere(readFile(path, 'utf8'));
  if (text === undefined) return null;
  await rm(path, { force: true });
  const seal = parsed(text);
  if (seal === undefined || seal.boot !== boot || seal.revision !== revision || seal.written !== written) return null;
  const items = await filesIn(folder);
  const facts = new Map(items.map((item) => [item.path, factsOf(item)]));
  return seal.facts === (await digestOf(facts, state)) ? items : null;
}

/** Seals the copy, which is closed and whose home is this gateway's still, if PostgreSQL has all of it. */
export async function seal(
  { folder, state, boot }: Place,
  {
    postgres,
    lease,
    writer,
    files,
    tapes,
  }: {
    readonly postgres: Postgres;
    readonly lease: Lease;
    readonly writer: HomeWriter;
    readonly files: HomeFiles;
    readonly tapes: HomeTapes;
  },
): Promise<void> {
  const { commits, since } = writer.behind;
  if (boot === null || !existsSync(state) || commits > 0 || since !== null || !lease.isHeld) return;
  const facts = new Map(files.facts());
  for (const { key, size } of await tapes.list(new AbortController().signal)) {
    const [item] = await contentsUnder(folder, `sessions/${tapeName(key)}`);
    if (item?.type !== 'file' || item.facts.size !== size) return;
    facts.set(item.path, factsOf(item));
  }
  const [row] = await postgres.query(
    `SELECT revision, ${WRITTEN} AS written FROM assistant.homes WHERE name = $1 AND epoch = $2`,
    [lease.name, lease.epoch],
  );
  if (row === undefined) return;
  const made: Seal = {
    boot,
    revision: Number(row['revision']),
    written: Number(row['written']),
    facts: await digestOf(facts, state),
  };
  await writeFile(join(folder, SEAL), `${JSON.stringify(made)}\n`, { mode: 0o600 });
}

/** All that PostgreSQL is to have beside the journal. */
async function filesIn(folder: string): Promise<readonly Item[]> {
  return (await contentsUnder(folder, '')).filter(
    ({ type, path }) => type !== 'folder' && (path.startsWith('sessions/') || isKept(path)),
  );
}

async function digestOf(facts: ReadonlyMap<string, string>, state: string): Promise<string> {
  const hash = createHash('sha256');
  for (const path of Array.from(facts.keys()).toSorted()) hash.update(`${path}\0${facts.get(path)}\n`);
  for (const path of [state, `${state}-wal`]) {
    const found = await ifThere(lstat(path));
    hash.update(found === undefined ? 'none\n' : `${factsOf({ type: 'file', path, facts: found })}\n`);
  }
  return hash.digest('hex');
}

function parsed(text: string): Seal | undefined {
  try {
    return sealSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
