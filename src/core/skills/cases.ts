import { readFile } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { parseDocument } from 'yaml';
import * as z from 'zod';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { nearest, oneLine } from '../util/text.ts';
import { CASES_FILE } from './skill.ts';

/** Cases of one skill. */
const MOST_CASES = 50;
/** Characters of the file; a parser of YAML can be kept busy for seconds by longer texts. */
const LONGEST = 100_000;
const MAX_ALIASES = 20;

const text = z
  .string({ error: 'a text' })
  .refine((value) => value.trim() !== '', { error: 'a text that is not empty' });
const above = z.number({ error: 'a number above 0' }).positive({ error: 'a number above 0' });
const yesOrNo = z.boolean({ error: 'true or false' });

const callKeys = {
  tool: text,
  arguments: z.record(z.string(), z.unknown(), { error: 'a map of arguments' }).default({}),
};
const answerKeys = {
  ...callKeys,
  answer: z.string({ error: 'a text' }),
  fails: yesOrNo.default(false),
};
const call = z.preprocess(
  (given) => (typeof given === 'string' ? { tool: given } : given),
  z.strictObject(callKeys, { error: 'the name of a tool, or a map with "tool" and "arguments"' }),
);

const caseKeys = {
  name: text.optional(),
  prompt: text,
  files: z
    .record(
      z.string().refine((path) => !isAbsolute(path) && !path.split(/[\\/]/u).includes('..'), {
        error: 'a path inside the workspace, such as notes/todo.md',
      }),
      z.string({ error: 'a text, the content of the file' }),
      { error: 'a map from paths to contents' },
    )
    .default({}),
  tools: z
    .array(z.strictObject(answerKeys, { error: 'a map with "tool" and "answer"' }), { error: 'a list' })
    .default([]),
  activates: yesOrNo.optional(),
  calls: listOf(call),
  never: listOf(call),
  contains: listOf(text),
  maxTokens: above.optional(),
  maxUsd: above.optional(),
};
const caseSchema = z.strictObject(caseKeys, { error: 'a map with "prompt" and what is expected' });

/** What one key of a case expects of the answer or the calls. */
const EXPECTATIONS = ['activates', 'calls', 'never', 'contains', 'maxTokens', 'maxUsd'] as const;

/** A tool call that is looked for: the tool, and a part of its arguments. */
export type CallPattern = Readonly<z.infer<z.ZodObject<typeof callKeys>>>;

/** What a call of a tool is answered instead of being run. `fails`: as an error. */
export type CannedAnswer = Readonly<z.infer<z.ZodObject<typeof answerKeys>>>;

/** One case of a skill: what is asked, in which workspace, and what has to happen. */
export interface SkillCase extends Readonly<Omit<z.infer<typeof caseSchema>, 'name'>> {
  /** @default the beginning of the prompt */
  readonly name: string;
}

/**
 * Reads the cases of a skill's folder. Throws an error of one sentence that names the file, the case and the key:
 * `no-cases` when there are none, `cases-invalid` when one is not of the form.
 */
export async function readCases(folder: string): Promise<readonly SkillCase[]> {
  const file = join(folder, CASES_FILE);
  const source = await readFile(file, 'utf8').catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw invalid(`${file} cannot be read: ${errorMessage(error)}`);
    throw new AppError('no-cases', `There are no cases for this skill: write them into ${file}.`);
  });
  return parseCases(source, file);
}

/** The cases in a text; `file`: what sentences call it. Throws as `readCases` does. */
function parseCases(source: string, file: string): readonly SkillCase[] {
  const given = fromYaml(source, file);
  if (!Array.isArray(given) || given.length === 0) {
    throw invalid(`${file} must be a list of cases, each with "prompt" and what is expected.`);
  }
  if (given.length > MOST_CASES) {
    throw invalid(`${file} has ${given.length} cases, and at most ${MOST_CASES} are run. Leave some out.`);
  }
  return given.map((one: unknown, at) => {
    const where = `${file}, case ${at + 1}${nameIn(one)}`;
    const parsed = caseSchema.safeParse(one);
    if (!parsed.success) throw invalid(`${where}: ${problemOf(parsed.error.issues[0], one)}`);
    const { name, ...rest } = parsed.data;
    const isExpected = EXPECTATIONS.some((key) => {
      const value = rest[key];
      return Array.isArray(value) ? value.length > 0 : value !== undefined;
    });
    if (!isExpected) throw invalid(`${where}: it expects nothing. Add one of ${EXPECTATIONS.join(', ')}.`);
    return { ...rest, name: name ?? oneLine(rest.prompt, 40) };
  });
}

function listOf<Item extends z.ZodType>(item: Item) {
  const asList = (given: unknown): unknown => (given === undefined || Array.isArray(given) ? given : [given]);
  return z.preprocess(asList, z.array(item).default([]));
}

function fromYaml(source: string, file: string): unknown {
  if (source.length > LONGEST)
    throw invalid(`${file} is longer than ${LONGEST / 1_000} kB. Split the skill, or shorten its cases.`);
  const document = parseDocument(source, { schema: 'core', logLevel: 'silent' });
  const [error] = document.errors;
  if (error !== undefined)
    throw invalid(`${file} is not valid YAML: ${oneLine(error.message.replace(/:?\n[\s\S]*$/u, ''), 200)}.`);
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (failed) {
    throw invalid(`${file} is not valid YAML: ${oneLine(errorMessage(failed), 200)}.`);
  }
}

function nameIn(given: unknown): string {
  const isNamed = typeof given === 'object' && given !== null && 'name' in given && typeof given.name === 'string';
  return isNamed ? ` (${oneLine(String(given.name), 60)})` : '';
}

function problemOf(issue: z.core.$ZodIssue | undefined, given: unknown): string {
  if (issue === undefined) return 'it is not of the form.';
  const path = issue.path.map(String);
  if (issue.code === 'unrecognized_keys') {
    const [key = ''] = issue.keys;
    const known = Object.keys(path.length === 0 ? caseKeys : path[0] === 'tools' ? answerKeys : callKeys);
    const guess = nearest(key, known);
    const hint = guess === undefined ? `There are: ${known.join(', ')}.` : `Did you mean "${guess}"?`;
    return `"${[...path, key].join('.')}" is not known. ${hint}`;
  }
  const expected = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
  if (path.length === 0) return `it must be ${expected}.`;
  const value = path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    given,
  );
  const shown = issue.code === 'invalid_key' ? path.at(-1) : value;
  const what = shown === undefined ? 'it is missing' : `it is ${oneLine(JSON.stringify(shown), 60)}`;
  return `"${path.join('.')}" must be ${expected}, but ${what}.`;
}

function invalid(message: string): AppError {
  return new AppError('cases-invalid', message);
}
