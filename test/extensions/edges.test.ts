import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CORE_VIEWS } from '../../src/journal/tables.ts';
import { journalMigrations } from '../../src/journal/schema.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';

const SRC = join(dirname(fileURLToPath(import.meta.url)), '..', '..', 'src');

/** Who may import the list of extensions: what puts the program together. */
const ROOTS = new Set(['main.ts', 'app.ts', 'page/main.tsx']);
/** What extensions may import of the core. */
const API = /^core\/api(?:-\w+)?\.ts$/u;
/** What panels of extensions may import of the page. */
const PAGE_API = 'page/api.ts';
/** Packages that a row may load: all else is loaded when something is done. */
const LIGHT = new Set(['zod']);

interface Import {
  readonly file: string;
  readonly target: string;
  readonly isType: boolean;
  readonly isLazy: boolean;
}

const FILES = filesIn(SRC).map((path) => relative(SRC, path));
const IMPORTS = FILES.flatMap(importsOf);
const extensionOf = (file: string): string | undefined => /^extensions\/(?<name>[^/]+)\//u.exec(file)?.groups?.['name'];

/** Words of extensions: origins, paths and operations as they declare them, tools as their sources name them. */
const WORDS = new Set([
  ...EXTENSIONS.flatMap(({ origins = [], operations = [], paths = {} }) => [
    ...[...origins, ...operations].map(({ name }) => name),
    ...(paths.folders ?? []),
    ...Object.keys(paths.closed ?? {}),
  ]),
  ...FILES.filter((file) => extensionOf(file) !== undefined).flatMap((file) =>
    [...readFileSync(join(SRC, file), 'utf8').matchAll(/defineTool\(\{\s*name: '(?<name>\w+)'/gu)].map(
      ({ groups }) => groups?.['name'] ?? '',
    ),
  ),
]);

/** Those that the core still says, and why. */
const LEFT: Readonly<Record<string, string>> = {
  'agent/commands/help.ts: cron': 'commands do not say their group in /help yet',
  'agent/commands/start.ts: cron': 'tools do not bring an idea for /start yet, and their order is the list',
  'agent/commands/start.ts: memory_write': 'the same',
  'agent/turn/provenance.ts: spawn':
    'results on the tapes of homes that say who wrote them, also where the tool is gone',
  'bus/commands.ts: cron': 'names of commands are needed where texts are rewritten without an assistant',
  'config/home.ts: browser': 'the layout of a home is one table',
  'gateway/operations/activity.ts: heartbeat': 'how the operation `why` says what it may be asked about',
  'memory/facts/records.ts: memory_write':
    'how a fact came to be known, in rows of homes; the memory’s files are still core',
  'memory/facts/source.ts: memory_write': 'the same',
  'memory/facts/text.ts: memory_write': 'the same',
  'security/access/taint.ts: cron': 'a target of lasting writes, in the public types of tools',
  'security/paths/rules.ts: browser':
    'closed in each home, also where no program is known, as in the sandbox’s arguments',
  'skills/allowed-tools.ts: cron':
    'names that other assistants give to tools, for skills that are read without an assistant',
  'skills/allowed-tools.ts: spawn': 'the same',
  'tools/mcp/stdio.ts: spawn': 'an event of the processes of Node',
  'tools/registry/aliases.ts: spawn': 'names that models call by habit are one table',
};

describe('the edge of the core', () => {
  test('nothing but what puts the program together knows an extension', () => {
    const knowing = IMPORTS.filter(
      ({ file, target }) => !file.startsWith('extensions/') && target.startsWith('extensions/') && !ROOTS.has(file),
    );
    expect(shown(knowing)).toEqual([]);
  });

  test('an extension imports the public API of the core, and no other extension', () => {
    const crossing = IMPORTS.filter(({ file, target }) => {
      const own = extensionOf(file);
      return (
        own !== undefined &&
        !target.startsWith('.') &&
        !isPackage(target) &&
        extensionOf(target) !== own &&
        !API.test(target) &&
        !(target === PAGE_API && file.startsWith(`extensions/${own}/page/`))
      );
    });
    expect(shown(crossing)).toEqual([]);
  });

  test('what a start reads of extensions loads nothing heavy', () => {
    // Everything that `extensions/index.ts` reaches without an `import()`, but for the core.
    const seen = new Set<string>();
    const visit = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const { target, isType, isLazy } of IMPORTS.filter((one) => one.file === file)) {
        if (!isType && !isLazy && target.startsWith('extensions/')) visit(target);
      }
    };
    visit('extensions/index.ts');
    const own = [...seen].filter((file) => file !== 'extensions/index.ts');
    const heavy = IMPORTS.filter(
      ({ file, target, isType, isLazy }) =>
        own.includes(file) &&
        !isType &&
        !isLazy &&
        isPackage(target) &&
        !target.startsWith('node:') &&
        !LIGHT.has(target),
    );
    expect(shown(heavy)).toEqual([]);
    expect(own.length / EXTENSIONS.length).toBeLessThan(6);
  });

  test('statements of extensions name their own tables and the views of the core', () => {
    const core = new Set(
      journalMigrations.flatMap(({ sql }) =>
        [...sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gu)].map(([, name]) => name ?? ''),
      ),
    );
    const reading = FILES.filter((file) => extensionOf(file) !== undefined).flatMap((file) =>
      [
        ...withoutComments(readFileSync(join(SRC, file), 'utf8')).matchAll(/\b(?:FROM|JOIN|INTO|UPDATE) (\w+)\b/gu),
      ].flatMap(([, table = '']) => (core.has(table) ? [`${file}: ${table}`] : [])),
    );
    expect(reading).toEqual([]);
    expect(CORE_VIEWS).toContain('core_messages');
  });

  test('no word of an extension stands in quotes in the core', () => {
    const found = FILES.filter((file) => extensionOf(file) === undefined && !file.startsWith('extensions/')).flatMap(
      (file) => {
        const text = withoutComments(readFileSync(join(SRC, file), 'utf8'));
        return [...new Set([...text.matchAll(/(?<=['"`])[\w/.-]+(?=['"`])/gu)].map(([word]) => word))].flatMap(
          (word) => (WORDS.has(word) ? [`${file}: ${word}`] : []),
        );
      },
    );
    expect(found.toSorted()).toEqual(Object.keys(LEFT).toSorted());
  });

  test('the names of extensions, tools, operations and tables are each had once', () => {
    const names = EXTENSIONS.flatMap(({ name, operations = [], tables }) => [
      `extension ${name}`,
      ...operations.map((one) => `operation ${one.name}`),
      ...(tables?.migrations.flatMap(({ sql }) =>
        [...sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gu)].map(([, table]) => `table ${table}`),
      ) ?? []),
    ]);
    expect(names.length).toBe(new Set(names).size);
  });
});

function shown(imports: readonly Import[]): readonly string[] {
  return imports.map(({ file, target }) => `${file} → ${target}`);
}

function isPackage(target: string): boolean {
  return target.startsWith('node:') || !target.endsWith('.ts');
}

function filesIn(folder: string): readonly string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return filesIn(path);
    return /\.tsx?$/u.test(name) ? [path] : [];
  });
}

function importsOf(file: string): readonly Import[] {
  const text = withoutComments(readFileSync(join(SRC, file), 'utf8'));
  const found = text.matchAll(
    /(?:^|\n)\s*(?:import|export)\s+(?<type>type\s)?(?<what>[^;'"]*?)\sfrom\s+'(?<from>[^']+)'|import\(\s*'(?<lazy>[^']+)'\s*\)|(?:^|\n)import\s+'(?<bare>[^']+)'/gu,
  );
  return [...found].map(({ groups = {} }) => {
    const from = groups['from'] ?? groups['lazy'] ?? groups['bare'] ?? '';
    const names = (groups['what'] ?? '')
      .replace(/[{}]/gu, '')
      .split(',')
      .map((one) => one.trim())
      .filter((one) => one !== '');
    return {
      file,
      target: from.startsWith('.') ? normalize(join(dirname(file), from)) : from,
      isType: groups['type'] !== undefined || (names.length > 0 && names.every((one) => one.startsWith('type '))),
      isLazy: groups['lazy'] !== undefined,
    };
  });
}

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gmu, '');
}
