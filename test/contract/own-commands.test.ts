import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CommandLine } from '../cli/command-line.ts';

/** What people, models and logs are told comes from these folders. */
const TEXTS = ['src', 'skills', 'workspace-template'];

/** The first words that the command line knows, as its help lists them. */
async function commandNames(): Promise<readonly string[]> {
  const line = new CommandLine();
  expect(await line.run('--help')).toBe(0);
  const [, listed = ''] = line.out.split('Commands:\n');
  return [...listed.matchAll(/^ {2}([a-z]+)\b/gmu)].map(([, name = '']) => name);
}

async function files(): Promise<readonly { readonly path: string; readonly text: string }[]> {
  const paths = await Promise.all(
    TEXTS.map(async (folder) =>
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
    const names = await commandNames();
    expect(names).toEqual(expect.arrayContaining(['gateway', 'chat', 'pair', 'mcp', 'skills', 'memory', 'approvals']));
    const literal = new RegExp(`\\bassistant (?:${names.join('|')})\\b`, 'gu');
    const faults = (await files()).flatMap(({ path, text }) =>
      found(path.endsWith('.md') ? text : withoutComments(text), literal).map((words) => `${path}: ${words}`),
    );
    expect(faults).toEqual([]);
    expect(found(withoutComments("/* assistant mcp */ say('assistant chat');\n// assistant pair"), literal)).toEqual([
      'assistant chat',
    ]);
  });

  test('and its comments write “cannot” as one word', async () => {
    const twoWords = /\bcan(?:\s|\/\/|\*)+not\b/giu;
    expect((await files()).flatMap(({ path, text }) => found(text, twoWords).map(() => path))).toEqual([]);
    expect(found('It can\n * not.', twoWords)).toHaveLength(1);
  });
});
