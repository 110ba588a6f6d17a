import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import { buildGoldSet, GOLD_KINDS, GOLD_LANGUAGES } from '../../memory/gold/gold-set.ts';
import { askGoldQuestions, recallOf, writeGoldMemory, type Answered, type Recall } from '../../memory/gold/measure.ts';
import { MemorySearch } from '../../memory/search/search.ts';
import type { Clock } from '../../util/clock.ts';
import { silentLog } from '../../util/log.ts';

/** How well the memory's search answers the questions of the gold set. */
export interface Evaluation {
  readonly memories: number;
  readonly questions: number;
  readonly ways: readonly EvaluatedWay[];
}

/** One way to search. */
export interface EvaluatedWay {
  readonly way: 'words';
  readonly recall: Recall;
  /** By kind of question, and by language within it. */
  readonly kinds: Readonly<Record<string, Recall & { readonly languages: Readonly<Record<string, Recall>> }>>;
  /** By language over all kinds. */
  readonly languages: Readonly<Record<string, Recall>>;
  /** Of one question, median. */
  readonly ms: number;
  /** Questions whose answer was not among the first five hits. */
  readonly missed: readonly string[];
}

/** Builds the gold set in a folder for temporary files, asks all of its questions, and removes it. Touches no home. */
export async function evaluateMemory({
  env,
  clock,
}: {
  readonly env: Environment;
  readonly clock: Clock;
}): Promise<Evaluation> {
  await using stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(env['TMPDIR'] ?? tmpdir(), 'assistant-memory-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const gold = buildGoldSet();
  const workspace = join(folder, 'workspace');
  await writeGoldMemory(workspace, gold.memories);
  const files = { sessions: join(folder, 'sessions'), workspace, database: join(folder, 'search.db'), timezone: 'UTC' };
  const search = stack.use(new MemorySearch({ ...files, clock, log: silentLog }));
  // The index is made before anything is measured.
  await search.search({ text: 'nothing', limit: 1, scope: 'all' });
  const times: number[] = [];
  const timed = {
    search: async (query: Parameters<MemorySearch['search']>[0]) => {
      const began = clock.monotonic();
      const hits = await search.search(query);
      times.push(clock.monotonic() - began);
      return hits;
    },
  };
  const answered = await askGoldQuestions(timed, gold);
  return {
    memories: gold.memories.length,
    questions: gold.questions.length,
    ways: [{ way: 'words', ...tableOf(answered), ms: medianOf(times) }],
  };
}

function tableOf(answered: readonly Answered[]): Omit<EvaluatedWay, 'way' | 'ms'> {
  const byLanguage = (of: readonly Answered[]): Readonly<Record<string, Recall>> =>
    Object.fromEntries(GOLD_LANGUAGES.map((name) => [name, recallOf(of, ({ language }) => language === name)]));
  return {
    recall: recallOf(answered),
    kinds: Object.fromEntries(
      GOLD_KINDS.map((name) => {
        const ofKind = answered.filter(({ kind }) => kind === name);
        return [name, { ...recallOf(ofKind), languages: byLanguage(ofKind) }];
      }),
    ),
    languages: byLanguage(answered),
    missed: answered.filter(({ isFound }) => !isFound).map(({ question }) => question),
  };
}

function medianOf(times: readonly number[]): number {
  const sorted = times.toSorted((a, b) => a - b);
  return Math.round(10 * (sorted[Math.floor(sorted.length / 2)] ?? 0)) / 10;
}
