import { appendFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { serverEmbedder } from '../../src/app/memory/embedder.ts';
import type { Embedder } from '../../src/core/memory/meaning/meaning.ts';
import type { SearchQuery } from '../../src/core/memory/search/retriever.ts';
import { MemorySearch } from '../../src/core/memory/search/search.ts';
import { embeddingServer, openEmbeddings } from '../../src/core/providers/embedding-server.ts';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { PROGRAM } from '../support/extensions.ts';
import { recordingLog } from '../support/recording-log.ts';
import { startFakeEmbeddings, type FakeEmbeddings } from '../support/fake-embeddings.ts';
import { tempFolder } from '../support/temp.ts';
import { tapeOf, type Said } from './search-corpus.ts';

/** A memory whose texts are embedded by a server of the test. */
export interface MeaningWorld extends AsyncDisposable {
  readonly server: FakeEmbeddings;
  readonly log: ReturnType<typeof recordingLog>;
  /** The search as a start opens it; one that was opened before ends first, without a word to it. */
  open(model?: string | null): Promise<MemorySearch>;
  find(text: string, more?: Partial<SearchQuery>): Promise<readonly string[]>;
  note(name: 'MEMORY.md' | 'HISTORY.md', text: string): Promise<void>;
  tape(key: string, turns: readonly Said[]): Promise<void>;
  say(key: string, turns: readonly Said[]): Promise<void>;
  /** How many vectors the index holds, by model. */
  vectors(): Readonly<Record<string, number>>;
}

export async function meaningWorld(): Promise<MeaningWorld> {
  const stack = new AsyncDisposableStack();
  const { path } = stack.use(await tempFolder());
  const server = stack.use(await startFakeEmbeddings());
  const [sessions, workspace] = [join(path, 'sessions'), join(path, 'workspace')];
  const database = join(path, 'search.db');
  await mkdir(sessions);
  await mkdir(join(workspace, 'memory'), { recursive: true });
  const log = recordingLog();
  let search: MemorySearch | undefined;
  stack.defer(() => search?.[Symbol.asyncDispose]());

  const embedder = (model: string): Embedder => {
    const settings = { provider: null, baseUrl: server.url, apiKey: 'key-of-vectors-1', model, dimensions: null };
    const found = embeddingServer({ memory: { embeddings: settings }, providers: {} }, PROGRAM);
    if (found === null || typeof found === 'string') throw new Error(String(found));
    return serverEmbedder(found, openEmbeddings(found, systemClock), {
      redact: (text) => text.replaceAll('hunter2', '[secret]'),
      count: async () => {},
      refusal: async () => null,
    });
  };
  const open = async (model: string | null = 'one'): Promise<MemorySearch> => {
    await search?.[Symbol.asyncDispose]();
    search = new MemorySearch({ sessions, workspace, database, clock: systemClock, log });
    const made = model === null ? null : embedder(model);
    search.useMeaning(() => made);
    return search;
  };
  await open();
  return {
    server,
    log,
    open,
    find: async (text, more = {}) => {
      const hits = await search?.search({ text, limit: 3, scope: 'all', ...more });
      return (hits ?? []).map(({ snippet }) => snippet);
    },
    note: (name, text) => writeFile(join(workspace, 'memory', name), text),
    tape: (key, turns) => writeFile(join(sessions, tapeName(key)), tapeOf(key, turns)),
    say: (key, turns) => appendFile(join(sessions, tapeName(key)), tapeOf(key, turns, false)),
    vectors: () => {
      using db = new DatabaseSync(database, { readOnly: true });
      const rows = db.prepare('SELECT model, count(*) AS n FROM vectors GROUP BY model').all();
      return Object.fromEntries(rows.map(({ model, n }) => [String(model), Number(n)]));
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
