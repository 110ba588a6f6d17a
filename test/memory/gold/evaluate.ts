import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../../../src/core/config/environment.ts';
import type { Config } from '../../../src/core/config/schema.ts';
import { buildGoldSet, GOLD_KINDS, GOLD_LANGUAGES } from './gold-set.ts';
import { askGoldQuestions, recallOf, writeGoldMemory, type Answered, type Recall } from './measure.ts';
import type { Retriever } from '../../../src/core/memory/search/retriever.ts';
import { MemorySearch } from '../../../src/core/memory/search/search.ts';
import { embeddingServer, openEmbeddings, type EmbeddingServer } from '../../../src/core/providers/embedding-server.ts';
import type { ModelServices } from '../../../src/core/providers/vendor.ts';
import { Pricing, type PricingOptions } from '../../../src/core/providers/pricing.ts';
import type { Clock } from '../../../src/core/util/clock.ts';
import { AppError } from '../../../src/core/util/errors.ts';
import { silentLog } from '../../../src/core/util/log.ts';
import { noUsage } from '../../../src/core/util/token-usage.ts';
import { serverEmbedder } from '../../../src/app/memory/embedder.ts';

/** How well the memory's search answers the questions of the gold set. */
export interface Evaluation {
  readonly memories: number;
  readonly questions: number;
  readonly ways: readonly EvaluatedWay[];
  /** Null: none is set in `memory.embeddings`, so the only way is by words. */
  readonly model: EvaluatedModel | null;
}

/** One way to search. */
export interface EvaluatedWay {
  readonly way: 'words' | 'meaning' | 'both';
  readonly recall: Recall;
  /** By kind of question, and by language within it. */
  readonly kinds: Readonly<Record<string, Recall & { readonly languages: Readonly<Record<string, Recall>> }>>;
  /** By language over all kinds. */
  readonly languages: Readonly<Record<string, Recall>>;
  /** Of one search, median. */
  readonly ms: number;
  /** Questions whose answer was not among the first five hits. */
  readonly missed: readonly string[];
}

/** The model that made vectors, and what that took. */
export interface EvaluatedModel {
  readonly model: string;
  readonly host: string;
  /** As the server counts them; 0: it does not say. */
  readonly tokens: number;
  /** Dollars; null: the price is unknown. */
  readonly costUsd: number | null;
  /** Until all memories had a vector. */
  readonly seconds: number;
}

/**
 * Builds the gold set in a folder for temporary files, asks all of its questions, and removes it. Touches no home. With a model in
 * `memory.embeddings` it is asked too; throws a sentence when that cannot be called or does not answer.
 */
export async function evaluateMemory({
  config,
  program,
  env,
  clock,
}: {
  readonly config: Pick<Config, 'memory' | 'models' | 'providers'>;
  readonly program: ModelServices;
  readonly env: Environment;
  readonly clock: Clock;
}): Promise<Evaluation> {
  const server = embeddingServer(config, program);
  if (typeof server === 'string') throw new AppError('embeddings-unusable', server);
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

  const ask = async (way: EvaluatedWay['way']): Promise<EvaluatedWay> => {
    const times: number[] = [];
    const retriever: Retriever = {
      search: async (query) => {
        const began = clock.monotonic();
        const hits = await search.search(way === 'both' ? query : { ...query, by: way });
        times.push(clock.monotonic() - began);
        return hits;
      },
    };
    const answered = await askGoldQuestions(retriever, gold);
    return { way, ...tableOf(answered), ms: medianOf(times) };
  };
  const counts = { memories: gold.memories.length, questions: gold.questions.length };
  const byWords = await ask('words');
  if (server === null) return { ...counts, ways: [byWords], model: null };
  const began = clock.monotonic();
  const used = await embedAll(search, server, clock);
  const seconds = Math.round((clock.monotonic() - began) / 100) / 10;
  const ways = [byWords, await ask('meaning'), await ask('both')];
  requireAnswer(search);
  const costUsd = await costOf({ ...config, presets: program.presets }, server, used.tokens);
  return { ...counts, ways, model: { model: server.model, host: server.host, tokens: used.tokens, costUsd, seconds } };
}

/** Makes all vectors; `tokens` goes on counting. A person asked for it, so no daily limit holds. */
async function embedAll(
  search: MemorySearch,
  server: EmbeddingServer,
  clock: Clock,
): Promise<{ readonly tokens: number }> {
  const used = { tokens: 0 };
  const embedder = serverEmbedder(server, openEmbeddings(server, clock), {
    redact: (text) => text,
    count: async ({ tokens }) => void (used.tokens += tokens),
    refusal: async () => null,
  });
  search.useMeaning(() => embedder);
  await search.embed();
  requireAnswer(search);
  return used;
}

function requireAnswer({ meaning }: MemorySearch): void {
  const trouble = meaning?.trouble ?? null;
  if (trouble !== null)
    throw new AppError('embeddings-failed', `The model of memory.embeddings was not reached: ${trouble}.`);
}

async function costOf(
  { models, providers, presets }: Omit<PricingOptions, 'log'>,
  { provider, model }: EmbeddingServer,
  tokens: number,
): Promise<number | null> {
  const pricing = new Pricing({ models, providers, presets, log: silentLog });
  await pricing.prepare({ provider, model });
  return pricing.costOf({ provider, model }, { ...noUsage, input: tokens });
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
