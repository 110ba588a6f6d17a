import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, type ParseError } from 'jsonc-parser';
import JSON5 from 'json5';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { sentenceOf } from '../../src/core/util/finding.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { referenceRows } from '../config/reference.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { commandLines, commandOf, problemOf, type CommandLine } from './command-lines.ts';
import { anchors, inlineCode, jsonBlocks, links, PAGES } from './documents.ts';
import { runCommand, type CommandRun } from '../support/command-run.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LINES = PAGES.flatMap(({ path, text }) => commandLines(text).map((line) => ({ path, line })));
const readme = PAGES.find(({ path }) => path === 'README.md')?.text ?? '';
const SECTIONS = Object.keys(PROGRAM.schema.shape);

describe('command lines', () => {
  test('of every page exist, with their arguments and options', () => {
    expect(LINES.length).toBeGreaterThan(80);
    const wrong = LINES.map(({ path, line }) => ({ path, text: line.text, problem: problemOf(line) }));
    expect(wrong.filter(({ problem }) => problem !== null)).toEqual([]);
  });

  test.each([
    ['assistant statsu', 'there is no command statsu'],
    ['assistant cron add "in 20m"', 'add needs 2 arguments'],
    ['sudo assistant service instal', 'there is no command service'],
    ['docker compose exec assistant assistant statsu', 'there is no command statsu'],
    ['assistant status extra', 'status takes at most 0 arguments'],
    ['npm run chat -- --loud', 'chat has no option --loud'],
    ['npm run assistant -- cron add a b --kind song', '--kind cannot be song'],
    ['assistant why --last', '--last needs a value'],
  ])('a wrong one is seen: %s', (text, problem) => {
    expect(commandLines(`\`${text}\``).map(problemOf)).toEqual([problem]);
  });

  const readable = new Map(
    LINES.filter(({ line }) => isReadOnly(line)).map(({ line }) => [line.words.join(' '), line]),
  );

  test('that only read are some', () => {
    expect(readable.size).toBeGreaterThan(15);
  });

  test.each([...readable.values()].map((line) => [line.text, line] as const))('%s runs', async (_, { words }) => {
    const { code, out, err } = await runAtHome(words);
    expect(err.replaceAll(/^⚠ The assistant runs as root\..*\n/gmu, '')).toBe('');
    expect(out).not.toBe('');
    // A call that would be asked about or refused ends with 1.
    expect(words.includes('--dry-run') ? 0 : code).toBe(0);
  });
});

describe('configuration', () => {
  test('in a block fenced as JSON is read without a warning', async () => {
    const blocks = PAGES.flatMap(({ path, text }) => jsonBlocks(text).map((block) => ({ path, block })));
    expect(blocks.length).toBeGreaterThan(8);
    const wrong: unknown[] = [];
    for (const { path, block } of blocks) {
      const settings = parsed(block);
      const env = Object.fromEntries(
        [...block.matchAll(/\$\{(\w+)\}/gu)].map(([, name]) => [name, 'the-value-of-a-variable']),
      );
      const home = temporaryFolder();
      writeFileSync(join(home, 'config.json'), JSON.stringify(withoutFiles(settings)), { mode: 0o600 });
      const { findings } = await loadConfig({ program: PROGRAM, home, env });
      const warnings = findings.map(sentenceOf);
      if (warnings.length > 0) wrong.push({ path, warnings });
    }
    expect(wrong).toEqual([]);
  });

  test('keys that a page names exist', () => {
    const patterns = referenceRows(PROGRAM.schema).map(({ key, form }) => keyPattern(key, form));
    const named = PAGES.flatMap(({ path, text }) =>
      inlineCode(text)
        .flatMap((code) => /^(?<key>[\w$]+(?:\.[\w<>*-]+)+)(?:: .*)?$/u.exec(code)?.groups?.['key'] ?? [])
        .filter((key) => SECTIONS.includes(key.split('.')[0] ?? '') && !/\.(?:md|json|ts)$/u.test(key))
        .map((key) => ({ path, key })),
    );
    expect(named.length).toBeGreaterThan(60);
    expect(named.filter(({ key }) => !patterns.some((pattern) => pattern.test(key)))).toEqual([]);
  });
});

test('variables that a page names set something', () => {
  const keys = referenceRows(PROGRAM.schema).map(({ key }) => key.toLowerCase().split('.'));
  const named = PAGES.flatMap(({ path, text }) =>
    [...text.matchAll(/\bASSISTANT_[A-Z]+(?:_+[A-Z]+)*\b/gu)].map(([name]) => ({ path, name })),
  ).filter(({ name }) => !['ASSISTANT_HOME', 'ASSISTANT_CONFIG', 'ASSISTANT_COMMAND'].includes(name));
  const isKnown = (name: string): boolean => {
    const words = name.replace('ASSISTANT_', '').toLowerCase().split('__');
    return keys.some((key) => words.every((word, at) => key[at] === '<name>' || key[at] === word.replaceAll('_', '')));
  };
  expect(named.length).toBeGreaterThan(5);
  expect(named.filter(({ name }) => !isKnown(name))).toEqual([]);
});

describe('links', () => {
  test('of every page lead to a file, and to a heading in it', () => {
    const texts = new Map(PAGES.map(({ path, text }) => [path, text]));
    const broken = PAGES.flatMap(({ path, text }) =>
      links(text).flatMap((link) => {
        const [file = '', anchor] = link.split('#');
        const target = file === '' ? path : normalize(join(dirname(path), file));
        const isThere = existsSync(join(ROOT, target));
        const hasHeading = anchor === undefined || anchors(texts.get(target) ?? '').has(anchor);
        return isThere && hasHeading ? [] : [`${path}: ${link}`];
      }),
    );
    expect(broken).toEqual([]);
  });

  test('of README reach every page of docs', () => {
    const linked = new Set(links(readme).map((link) => link.split('#')[0]));
    expect(PAGES.map(({ path }) => path).filter((path) => path !== 'README.md' && !linked.has(path))).toEqual([]);
  });
});

describe('what a newcomer wants to do', () => {
  /** Each task as README's table has it, and what the place that it leads to must say. */
  test.each([
    ['set up your own bot on Telegram', /@BotFather/u],
    ['use Ollama', /"ollama\/\S+"/u],
    ['let a friend in as a guest', /"allowFrom": \["123456789", "\*"\]/u],
    ['move it to another machine', /assistant restore/u],
    ['stop it from spending money', /"dayUsd": \d/u],
    ['find what it cost', /`\/usage`/u],
    ['see why it did not answer', /`assistant inbox`/u],
    ['add a skill', /assistant skills add PATH/u],
    ['connect an MCP server', /"mcpServers"/u],
    ['run it at boot', /systemctl|assistant service install/u],
    ['silence the heartbeat', /"heartbeat": \{ "enabled": false \}/u],
  ])('%s: README leads to it with one click', (task, says) => {
    const link = readme.split('\n').find((line) => line.startsWith(`| ${task} |`)) ?? '';
    const [to = ''] = links(link);
    const [file = '', anchor] = to.split('#');
    expect(sectionOf(readFileSync(join(ROOT, file), 'utf8'), anchor)).toMatch(says);
  });
});

/** The text below a heading, up to the next one of its level or above; the whole text without an anchor. */
function sectionOf(text: string, anchor: string | undefined): string {
  if (anchor === undefined) return text;
  const parts = text.split(/^(?=## )/mu);
  return parts.find((part) => anchors(part.split('\n')[0] ?? '').has(anchor)) ?? '';
}

/** Commands that change nothing, with all their words given. */
function isReadOnly(line: CommandLine): boolean {
  if (line.words.some((word) => /^[A-Z:]{2,}$|[[\]<>…|]|^\{…\}$/u.test(word)) || line.text.includes('NAME'))
    return false;
  const first = line.words[0] ?? '';
  const name = commandOf(line)?.command.name ?? '';
  if (['status', 'prompt', 'why', 'audit'].includes(first)) return true;
  if (first === 'tools' && name === 'run') return line.words.includes('--dry-run');
  if (first === 'chat') return line.words.includes('-m');
  return name === 'list' || (first === 'memory' && name === 'log');
}

/** In a home of its own, answered by the demo. */
function runAtHome(words: readonly string[]): Promise<CommandRun> {
  const home = temporaryFolder();
  mkdirSync(join(home, 'workspace'));
  return runCommand(words, home);
}

/** A block with or without its outer braces, as JSON with comments or JSON5. Throws if it is neither. */
function parsed(block: string): unknown {
  const text = block.trim().startsWith('{') ? block : `{${block}}`;
  const errors: ParseError[] = [];
  const value: unknown = parse(text, errors, { allowTrailingComma: true });
  return errors.length === 0 ? value : JSON5.parse(text);
}

/** `{"file": …}` names a file of the reader's machine. */
function withoutFiles(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutFiles);
  if (typeof value !== 'object' || value === null) return value;
  if ('file' in value) return 'from-a-file';
  return Object.fromEntries(Object.entries(value).map(([key, part]: [string, unknown]) => [key, withoutFiles(part)]));
}

/** Matches a key as a page writes it: a name in place of `<name>`, and any name below a map of texts. */
function keyPattern(key: string, form: string): RegExp {
  const parts = key.split('.').map((part) => (part === '<name>' ? '[^.]+' : RegExp.escape(part)));
  return new RegExp(`^${parts.join('\\.')}${form.endsWith('by name') ? '(?:\\.[^.]+)?' : ''}$`, 'u');
}
