import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { COMMANDS } from '../support/extensions.ts';
import { flagName } from '../../src/core/cli/command.ts';

/** What people, models and logs are told comes from these folders. */
const TEXTS = ['src', 'skills', 'workspace-template'];

const NAMES = COMMANDS.map(({ name }) => name);

/** Why these words behind `assistant` are no command of the table; null: they are. */
function fault(words: string): string | null {
  const [name, next = '', ...rest] = words.split(/\s+/u);
  const row = COMMANDS.find((one) => one.name === name);
  if (row === undefined) return `there is no command ${name}`;
  const own = 'commands' in row ? row.commands.find((one) => one.name === next) : row;
  if (own === undefined && /^[a-z]+$/u.test(next)) return `${name} has no command ${next}`;
  const flags = new Set(['--home', '--agent', ...Object.keys((own ?? { options: {} }).options).map(flagName)]);
  const unknown = [next, ...rest].filter((word) => /^--[a-z]/u.test(word) && !flags.has(word));
  return unknown.length === 0 ? null : `${name} ${next} has no ${unknown.join(', ')}`;
}

async function files(
  folders: readonly string[] = TEXTS,
): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const paths = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(folder, { recursive: true, withFileTypes: true }))
        .filter((entry) => entry.isFile() && /\.(?:ts|cjs|md)$/u.test(entry.name))
        .map((entry) => join(entry.parentPath, entry.name)),
    ),
  );
  return await Promise.all(paths.flat().map(async (path) => ({ path, text: await readFile(path, 'utf8') })));
}

/** Comments are for readers of the source; what begins with a slash in the middle of a line is kept. */
function withoutComments(text: string): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//gu, '').replaceAll(/^\s*\/\/.*$/gmu, '');
}

function found(text: string, pattern: RegExp): readonly string[] {
  return Array.from(text.matchAll(pattern), ([match]) => match.replaceAll(/\s+/gu, ' '));
}

describe('the texts of the program', () => {
  test('name no command of its own as if it were on the PATH: assistantCommand says how it is called here', async () => {
    // A name that is filled in is no other than one that is written out.
    const literal = new RegExp(`\\bassistant (?:${NAMES.join('|')})\\b|(?<!\\*\\*)\\bassistant \\$\\{`, 'gu');
    const others = (await files()).filter(({ path }) => path !== join('src', 'core', 'util', 'assistant-command.ts'));
    const faults = others.flatMap(({ path, text }) =>
      found(path.endsWith('.md') ? text : withoutComments(text), literal).map((words) => `${path}: ${words}`),
    );
    expect(faults).toEqual([]);
    expect(found(withoutComments("/* assistant mcp */ say('assistant chat');\n// assistant pair"), literal)).toEqual([
      'assistant chat',
    ]);
  });

  test('and its pages name commands and options that are in the table', async () => {
    const inSource = /assistantCommand\(\s*[`'](?<words>[^`'$]*)/gu;
    const inPages = /(?:`|npm run )assistant (?:-- )?(?<words>[a-z][^`\n]*)/gu;
    const readme = { path: 'README.md', text: await readFile('README.md', 'utf8') };
    const named = [...(await files([...TEXTS, 'docs'])), readme].flatMap(({ path, text }) =>
      [...text.matchAll(path.endsWith('.md') ? inPages : inSource)].map(({ groups }) => ({
        path,
        words: groups?.['words']?.trim() ?? '',
      })),
    );
    const words = new Set(named.map((one) => one.words));
    for (const known of ['pair approve CODE', 'mcp trust', 'skills enable --all', 'prompt --full']) {
      expect(words).toContain(known);
    }
    expect(named.filter((one) => one.words !== '' && fault(one.words) !== null)).toEqual([]);
    expect(fault('pair aprove CODE')).toBe('pair has no command aprove');
    expect(fault('mail list')).toBe('there is no command mail');
    expect(fault('cron enable ID --force')).toBe('cron enable has no --force');
  });

  test('and its comments write “cannot” as one word', async () => {
    const twoWords = /\bcan(?:\s|\/\/|\*)+not\b/giu;
    expect((await files()).flatMap(({ path, text }) => found(text, twoWords).map(() => path))).toEqual([]);
    expect(found('It can\n * not.', twoWords)).toHaveLength(1);
  });
});
