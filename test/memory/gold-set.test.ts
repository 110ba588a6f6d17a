import { readdir } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { evaluateMemory, type EvaluatedWay, type Evaluation } from './gold/evaluate.ts';
import { buildGoldSet, GOLD_KINDS, GOLD_LANGUAGES } from './gold/gold-set.ts';
import { tellingTerms } from '../../src/core/memory/search/stop-words.ts';
import { termsOf } from '../../src/core/memory/search/words.ts';
import type { Config } from '../../src/core/config/schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { PROGRAM } from '../support/extensions.ts';
import { startFakeEmbeddings } from '../support/fake-embeddings.ts';
import { tempFolder } from '../support/temp.ts';

/** Of 100 questions, those that words alone answer at least. A change of the search that falls below has made it worse. */
const FLOOR = { paraphrase: 0, names: 75, dates: 85, negation: 100, contradiction: 100 } as const;

const { memories, questions } = buildGoldSet();

describe('the gold set', () => {
  test('asks at least 120 questions of five kinds over at least 1,000 memories in three languages', () => {
    expect(questions.length).toBeGreaterThanOrEqual(120);
    expect(memories.length).toBeGreaterThanOrEqual(1_000);
    for (const language of GOLD_LANGUAGES) {
      for (const kind of GOLD_KINDS) {
        const asked = questions.filter((one) => one.language === language && one.kind === kind);
        expect(asked.length).toBeGreaterThanOrEqual(7);
      }
    }
    expect(GOLD_LANGUAGES).toEqual(['English', 'German', 'Chinese']);
  });

  test('is the same each time, has no memory twice, and one memory that answers each question', () => {
    expect(buildGoldSet()).toEqual({ memories, questions, now: buildGoldSet().now });
    const texts = new Set(memories.map(({ text }) => text));
    expect(texts.size).toBe(memories.length);
    expect(questions.filter(({ answer }) => !texts.has(answer))).toEqual([]);
    expect(new Set(questions.map(({ text }) => text)).size).toBe(questions.length);
  });

  test('paraphrases share no word that says something with the memory that answers them', () => {
    const wordsOf = (text: string): readonly string[] =>
      tellingTerms(termsOf(text)).flatMap(({ kind, text: word }) => (kind === 'word' ? [word] : []));
    const shared = questions.filter(({ kind, text, answer }) => {
      const known = new Set(wordsOf(answer));
      return kind === 'paraphrase' && wordsOf(text).some((word) => known.has(word));
    });
    expect(shared.map(({ text }) => text)).toEqual([]);
  });
});

/** Measures in a folder for temporary files. */
async function evaluate(folder: string, embeddings?: object): Promise<Evaluation> {
  const config = PROGRAM.schema.parse(embeddings === undefined ? {} : { memory: { embeddings } }) as Config;
  return await evaluateMemory({ config, program: PROGRAM, env: { TMPDIR: folder }, clock: systemClock });
}

describe('the search of the memory', () => {
  test('finds the answer by words as often as before, for each kind, and leaves nothing behind', async () => {
    await using folder = await tempFolder();
    const { ways, ...counts } = await evaluate(folder.path);
    expect(counts).toEqual({ questions: questions.length, memories: memories.length, model: null });
    const words = ways.find(({ way }) => way === 'words') as EvaluatedWay;
    for (const [kind, least] of Object.entries(FLOOR)) {
      const { found = 0, of = 0 } = words.kinds[kind] ?? {};
      expect([kind, Math.floor((100 * found) / of) >= least]).toEqual([kind, true]);
    }
    expect(await readdir(folder.path)).toEqual([]);
  });

  test('finds by meaning what words alone do not, and says when the model cannot be asked', async () => {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await tempFolder());
    const server = stack.use(await startFakeEmbeddings());
    const embeddings = { baseUrl: server.url, apiKey: 'key-of-vectors-0011', model: 'small' };
    const { ways, model } = await evaluate(folder.path, embeddings);
    expect(ways.map(({ way }) => way)).toEqual(['words', 'meaning', 'both']);
    const [words, , both] = ways;
    for (const kind of GOLD_KINDS) expect(both?.kinds[kind]?.of).toBe(words?.kinds[kind]?.of);
    expect(both?.missed).not.toContain('What happened to my luggage?');
    expect(words?.missed).toContain('What happened to my luggage?');
    expect(model).toMatchObject({ model: 'small', host: new URL(server.url).host, costUsd: null });
    expect(model?.tokens).toBeGreaterThan(1_000);
    expect(await readdir(folder.path)).toEqual([]);
    server.status = 500;
    await expect(evaluate(folder.path, embeddings)).rejects.toThrow(
      /The model of memory\.embeddings was not reached: 127\.0\.0\.1:\d+ answered 500: `[^`]+`\./u,
    );
  });
});
