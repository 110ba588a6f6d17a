import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { EvaluatedWay, Evaluation } from '../../src/app/memory/evaluate.ts';
import { buildGoldSet, GOLD_KINDS, GOLD_LANGUAGES } from '../../src/memory/gold/gold-set.ts';
import { tellingTerms } from '../../src/memory/search/stop-words.ts';
import { termsOf } from '../../src/memory/search/words.ts';
import { runCommand } from '../support/command-run.ts';
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

describe('assistant memory eval', () => {
  test('prints how often the answer is found by words, for each kind and language, and leaves nothing behind', async () => {
    await using folder = await tempFolder();
    const home = join(folder.path, 'home');
    const env = { TMPDIR: folder.path };
    const json = await runCommand(['memory', 'eval', '--json'], home, env);
    expect(json).toMatchObject({ code: 0, err: '' });
    const { ways, ...counts }: Evaluation = JSON.parse(json.out);
    expect(counts).toEqual({ questions: questions.length, memories: memories.length, model: null });
    const words = ways.find(({ way }) => way === 'words') as EvaluatedWay;
    for (const [kind, least] of Object.entries(FLOOR)) {
      const { found = 0, of = 0 } = words.kinds[kind] ?? {};
      expect([kind, Math.floor((100 * found) / of) >= least]).toEqual([kind, true]);
    }
    const { out } = await runCommand(['memory', 'eval'], home, env);
    const { found, of } = words.recall;
    expect(out).toMatch(/^by words +English +German +Chinese +all$/mu);
    expect(out).toContain(`(${found}/${of})`);
    // Neither a home nor the folder in which it was measured.
    expect(await readdir(folder.path)).toEqual([]);
  });

  test('with memory.embeddings prints the same by meaning and by both, and what that took', async () => {
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await tempFolder());
    const server = stack.use(await startFakeEmbeddings());
    const embeddings = { baseUrl: server.url, apiKey: 'key-of-vectors-0011', model: 'small' };
    await writeFile(join(folder.path, 'config.json'), JSON.stringify({ memory: { embeddings } }), { mode: 0o600 });
    const { code, out } = await runCommand(['memory', 'eval', '--json'], folder.path, { TMPDIR: folder.path });
    expect(code).toBe(0);
    const { ways, model }: Evaluation = JSON.parse(out);
    expect(ways.map(({ way }) => way)).toEqual(['words', 'meaning', 'both']);
    const [words, , both] = ways;
    for (const kind of GOLD_KINDS) expect(both?.kinds[kind]?.of).toBe(words?.kinds[kind]?.of);
    expect(both?.missed).not.toContain('What happened to my luggage?');
    expect(words?.missed).toContain('What happened to my luggage?');
    expect(model).toMatchObject({ model: 'small', host: new URL(server.url).host, costUsd: null });
    expect(model?.tokens).toBeGreaterThan(1_000);
    expect(await readdir(folder.path)).toEqual(['config.json']);
    server.status = 500;
    const failed = await runCommand(['memory', 'eval'], folder.path, { TMPDIR: folder.path });
    expect(failed.code).not.toBe(0);
    expect(failed.err).toMatch(
      /The model of memory\.embeddings was not reached: 127\.0\.0\.1:\d+ answered 500: `[^`]+`\./u,
    );
  });
});
