import { join } from 'node:path';
import { ensureDirectory, replaceDurable } from '../../../src/core/storage/files.ts';
import type { Retriever } from '../../../src/core/memory/search/retriever.ts';
import { searchByQuestion } from '../../../src/core/memory/time/search-by-question.ts';
import type { Kind } from './gold-language.ts';
import type { GoldLanguageName, GoldMemory, GoldQuestion, GoldSet } from './gold-set.ts';

/** How many of the hits count. */
const RECALL_AT = 5;

/** How a question of the set went. */
export interface Answered {
  readonly language: GoldLanguageName;
  readonly kind: Kind;
  readonly question: string;
  /** The memory that answers it is among the first five hits. */
  readonly isFound: boolean;
}

/** A number of questions, and of how many the answer was found. */
export interface Recall {
  readonly found: number;
  readonly of: number;
}

/** Writes the memories of a set as the two files of a workspace, in UTC. */
export async function writeGoldMemory(workspace: string, memories: readonly GoldMemory[]): Promise<void> {
  const folder = join(workspace, 'memory');
  await ensureDirectory(folder);
  const facts = memories.filter(({ at }) => at === null).map(({ text }) => `- ${text}\n`);
  const events = memories
    .toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
    .flatMap(({ at, text }) =>
      at === null ? [] : [`[${new Date(at).toISOString().slice(0, 16).replace('T', ' ')}] ${text}\n\n`],
    );
  await replaceDurable(join(folder, 'MEMORY.md'), facts.join(''));
  await replaceDurable(join(folder, 'HISTORY.md'), events.join(''));
}

/** Asks every question of a set as the owner would. Rejects as the retriever does. */
export async function askGoldQuestions(
  retriever: Retriever,
  { questions, now }: GoldSet,
): Promise<readonly Answered[]> {
  const answered: Answered[] = [];
  for (const question of questions) answered.push(await ask(retriever, question, now));
  return answered;
}

async function ask(
  retriever: Retriever,
  { language, kind, text, answer }: GoldQuestion,
  now: number,
): Promise<Answered> {
  const query = { text, limit: RECALL_AT, scope: 'all' } as const;
  const { hits } = await searchByQuestion(retriever, query, { now, timezone: 'UTC' });
  const isFound = hits.slice(0, RECALL_AT).some(({ snippet }) => snippet.endsWith(answer));
  return { language, kind, question: text, isFound };
}

/** The recall of those questions that `isCounted` picks. */
export function recallOf(answered: readonly Answered[], isCounted: (one: Answered) => boolean = () => true): Recall {
  const counted = answered.filter(isCounted);
  return { found: counted.filter(({ isFound }) => isFound).length, of: counted.length };
}
