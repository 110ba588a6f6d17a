import type { Spender } from '../../core/agent/context/budget.ts';
import type { App } from '../../core/app.ts';
import type { Embedder, MeaningState } from '../../core/memory/meaning/meaning.ts';
import {
  canEmbed,
  embeddingServer,
  meaningText,
  openEmbeddings,
  type EmbeddingServer,
} from '../../core/providers/embedding-server.ts';
import { readFacts } from '../../core/providers/error-facts.ts';
import type { Embed, Embeddings } from '../../core/providers/vendor.ts';
import { DeadlineError } from '../../core/util/clock.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { noUsage } from '../../core/util/token-usage.ts';
import { countText, literal } from '../../core/util/text.ts';
import { startOfDay } from '../../core/util/time-zone.ts';
import type { Base } from '../../core/assistant/base.ts';

const SOURCE = 'embeddings';
/** Under which the usage is summed: it belongs to no conversation. */
const SESSION = 'system:embeddings';

/** The model of `memory.embeddings` as the memory asks it: within the budgets, counted, and without secrets in the texts. */
export function createEmbedder(app: App): () => Embedder | null {
  const { config, program, clock, newId, redact, budget, journal } = app;
  const spender = (): Spender => {
    const nobody = { role: 'owner', messages: [], entries: [] } as const;
    return { turnId: newId(), sessionKey: SESSION, source: SOURCE, ...nobody };
  };
  let made: { readonly from: string; readonly embedder: Embedder } | undefined;
  const refusal = async (): Promise<string | null> => {
    const { dayTokens } = config.memory.embeddings;
    const used = journal.usage.day(startOfDay(clock.now(), config.agent.timezone)).of(SOURCE).usage.input;
    if (used >= dayTokens) {
      return `today’s ${countText(dayTokens)} tokens for it are used (memory.embeddings.dayTokens), so the rest follows tomorrow`;
    }
    return (await budget.refusal(spender())) === null
      ? null
      : 'a daily budget of agent.budget is used up, so the rest follows tomorrow';
  };
  return () => {
    const server = embeddingServer(config, program);
    if (!canEmbed(server)) return null;
    const from = JSON.stringify(server);
    if (made?.from === from) return made.embedder;
    const { provider, model } = server;
    const count: Count = async ({ tokens, estimated }) => {
      await app.bounds.warm({ provider, model });
      budget.record(spender(), { provider, model }, { ...noUsage, input: tokens, ...(estimated ? { estimated } : {}) });
    };
    const embedder = serverEmbedder(server, openEmbeddings(server, clock), { redact, count, refusal });
    made = { from, embedder };
    return embedder;
  };
}

type Count = (answer: Pick<Embeddings, 'tokens' | 'estimated'>) => Promise<void>;

/** A server as the memory asks it. `count`: is told the tokens of each answer. */
export function serverEmbedder(
  { model, dimensions, host }: EmbeddingServer,
  embed: Embed,
  {
    redact,
    count,
    refusal,
  }: {
    readonly redact: (text: string) => string;
    readonly count: Count;
    readonly refusal: Embedder['refusal'];
  },
): Embedder {
  return {
    model: dimensions === null ? model : `${model}:${dimensions}`,
    embed: async (texts, signal) => {
      try {
        const asked = { ...(dimensions === null ? {} : { dimensions }), signal };
        const answer = await embed(texts.map(redact), asked);
        await count(answer);
        return answer.vectors;
      } catch (error) {
        throw new EmbeddingError(redact(sentenceOf(error, { host, signal })), { cause: error });
      }
    },
    refusal,
    isRefusedText: (error) => {
      const status = statusOf(error instanceof Error ? error.cause : error);
      return status === 400 || status === 413 || status === 422 || TOO_LARGE.test(errorMessage(error));
    },
  };
}

/** What llama.cpp says with status 500 of a text that is larger than its physical batch. */
const TOO_LARGE = /too large to process|physical batch size/u;

class EmbeddingError extends Error {
  override readonly name = 'EmbeddingError';
}

function sentenceOf(error: unknown, { host, signal }: { readonly host: string; readonly signal: AbortSignal }): string {
  if (signal.aborted && signal.reason instanceof DeadlineError) return `${host} did not answer in time`;
  const status = statusOf(error);
  if (status !== undefined) {
    const { detail } = readFacts(error, 0);
    const advice = TOO_LARGE.test(detail) ? ' (start it with -ub 2048)' : '';
    return `${host} answered ${status}${detail === '' ? '' : `: ${literal(detail)}`}${advice}`;
  }
  const isConnection = /^(?:Connection error|fetch failed)/u.test(errorMessage(error));
  return isConnection ? `${host} could not be reached` : `${host}: ${errorMessage(error)}`;
}

function statusOf(error: unknown): number | undefined {
  const status = typeof error === 'object' && error !== null && 'status' in error ? error.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

/** How the memory is searched, where its texts go, and how far they are there, for the status; null: by words alone, as it is set. */
export function searchText(
  { config, program }: Pick<Base, 'config' | 'program'>,
  state: MeaningState | null,
): string | null {
  const text = meaningText(config, program);
  if (text === null || state === null || !canEmbed(embeddingServer(config, program))) return text;
  const { counts, trouble, paused } = state;
  const done = counts === null ? '' : `; ${countText(counts.embedded)} of ${countText(counts.total)} texts are there`;
  if (trouble !== null) return `by words only, because ${trouble}; it is asked again by itself${done}`;
  return `${text}${done}${paused === null ? '' : `; ${paused}`}`;
}
