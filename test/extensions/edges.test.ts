import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { CORE_VIEWS } from '../../src/core/journal/tables.ts';
import { journalMigrations } from '../../src/core/journal/schema.ts';
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
  ...EXTENSIONS.flatMap(({ origins = [], operations = [], channels = [], vendors = [], paths = {} }) => [
    ...[...origins, ...operations].map(({ name }) => name),
    ...channels.map(({ kind }) => kind),
    ...vendors.map(({ api }) => api),
    ...(paths.folders ?? []),
    ...Object.keys(paths.closed ?? {}),
  ]),
  ...FILES.filter((file) => extensionOf(file) !== undefined).flatMap(toolsIn),
]);

const WRITERS = ['write_file', 'edit_file', 'apply_patch'];
const READERS = ['read_file', 'list_dir', 'glob', 'grep'];

/** Several words of one file. */
function leftIn(file: string, words: readonly string[], why: string): Readonly<Record<string, string>> {
  return Object.fromEntries(words.map((word) => [`${file}: ${word}`, why]));
}

/** Those that the core still says, and why. */
const LEFT: Readonly<Record<string, string>> = {
  'core/agent/commands/help.ts: cron': 'commands do not say their group in /help yet',
  'core/agent/commands/start.ts: cron': 'tools do not bring an idea for /start yet, and their order is the list',
  'core/agent/commands/start.ts: list_dir': 'the same',
  'core/agent/commands/start.ts: memory_write': 'the same',
  'core/agent/undo/lasting.ts: exec': 'effects on the tapes of homes, also where the tool is gone',
  'core/bus/commands.ts: cron': 'names of commands are needed where texts are rewritten without an assistant',
  'core/config/home.ts: browser': 'the layout of a home is one table',
  'core/gateway/operations/activity.ts: heartbeat': 'how the operation `why` says what it may be asked about',
  'core/memory/facts/records.ts: memory_write':
    'how a fact came to be known, in rows of homes; the memory’s files are still core',
  'core/memory/facts/source.ts: memory_write': 'the same',
  'core/memory/facts/text.ts: memory_write': 'the same',
  'core/security/access/taint.ts: cron': 'a target of lasting writes, in the public types of tools',
  'core/skills/allowed-tools.ts: cron':
    'names that other assistants give to tools, for skills that are read without an assistant',
  'core/skills/allowed-tools.ts: exec': 'the same',
  'core/skills/allowed-tools.ts: spawn': 'the same',
  'core/tools/registry/tool-table.ts: exec': 'names that models call by habit are one table',
  'core/config/init.ts: exec':
    'what a new configuration shows as an example; its keys are the core’s, as the sandbox is',
  'core/agent/commands/start.ts: web_fetch': 'the same as for cron',
  'core/agent/commands/start.ts: web_search': 'the same as for cron',
  'core/config/schema/tools.ts: web_fetch': 'what guests may call where nobody set it',
  'core/config/schema/tools.ts: web_search': 'the same',
  'core/tools/registry/tool-table.ts: web_fetch': 'names that models call by habit are one table',
  'core/tools/registry/tool-table.ts: web_search': 'the same',
  'core/tools/registry/tool-table.ts: spawn': 'names that models call by habit are one table',
  ...leftIn(
    'core/agent/turn/call-files.ts',
    [...WRITERS, ...READERS],
    'tools do not say which parameter is a path yet',
  ),
  ...leftIn('core/tools/registry/decide.ts', READERS, 'the same'),
  ...leftIn(
    'core/tools/registry/tool-table.ts',
    [...WRITERS, ...READERS],
    'names that models call by habit are one table',
  ),
  'core/tools/registry/arguments.ts: glob': 'the same, of parameters',
  'core/skills/allowed-tools.ts: glob': 'names that other assistants give to tools',
  'core/skills/allowed-tools.ts: grep': 'the same',
  'app/skill-lab/watch.ts: read_file': 'how a trial sees that a skill was read',
  ...leftIn('page/chat/arguments.ts', WRITERS, 'how the page shows a change; panels of extensions show no calls yet'),
  'core/config/init.ts: anthropic': 'the services whose keys a new configuration shows as examples',
  'core/config/init.ts: openai': 'the same',
  'core/config/schema/agents.ts: telegram': 'an example in the documentation of a key',
  'core/config/schema/channels.ts: telegram': 'the same',
  'core/config/schema/models.ts: anthropic': 'the same',
  'core/config/schema/models.ts: openai': 'the same',
  'core/gateway/operations/sessions.ts: telegram': 'the same',
  'core/gateway/openai/embeddings.ts: openai': 'an example in a sentence',
};

/** Imports of the core that lead out of it, by what they wait for. An entry goes when its import goes; none comes. */
const LEAVING: Readonly<Record<string, readonly string[]>> = {
  'issue 24a: an operation is one object': [],
  'issue 24b: findings, checks and the set-up are declared in the core': [
    'core/api-cli.ts → service/npm.ts',
    'core/api-doctor.ts → doctor/check.ts',
    'core/api-doctor.ts → doctor/checks/channel-calls.ts',
    'core/api-doctor.ts → doctor/checks/channels.ts',
    'core/api-doctor.ts → doctor/scene.ts',
    'core/api-setup.ts → cli/assistant/init.ts',
    'core/cli/context.ts → service/host.ts',
    'core/extension.ts → doctor/check.ts',
    'core/plugins/plugin-installer.ts → service/npm.ts',
    'core/start/restored.ts → backup/restored.ts',
  ],
  'issue 25a: the page is an extension': [
    'core/assistant/serve.ts → app/gateway/files.ts',
    'core/assistant/serve.ts → app/gateway/http.ts',
  ],
  'issue 25b: the command line': [
    'core/api-terminal.ts → cli/reconnect.ts',
    'core/cli/context.ts → app.ts',
    'core/cli/home-of.ts → host/homes/fleet-report.ts',
  ],
  'issue 27: the engine says where a home and its channels come from': [
    'core/library/types.ts → host/homes/compare-home.ts',
    'core/library/types.ts → host/homes/move-home.ts',
    'core/library/types.ts → host/homes/move.ts',
    'core/start/standby.ts → host/homes/stored-home.ts',
    'core/stores/kept-tapes.ts → host/homes/kept-home.ts',
    'core/stores/stores.ts → host/homes/kept-home.ts',
  ],
  'issue 28: the memory is an extension': [
    'core/assistant/agent.ts → app/memory/embedder.ts',
    'core/assistant/info.ts → app/memory/embedder.ts',
    'core/assistant/status.ts → app/memory/embedder.ts',
  ],
};

/** Features that could be absent and still lie elsewhere, each with the issue that moves it. */
const WAITING: Readonly<Record<string, readonly [path: string, issue: string]>> = {
  'the OpenAI API': ['core/gateway/openai', '24a'],
  doctor: ['doctor', '24b'],
  'what the doctor tries': ['app/doctor', '24b'],
  'set-up': ['setup', '24b'],
  backup: ['backup', '24b'],
  service: ['service', '24b'],
  'the page': ['page', '25a'],
  'skill lab': ['app/skill-lab', '25b'],
  'code editors': ['acp', '26'],
  undo: ['core/agent/undo', '27'],
  why: ['core/agent/why', '27'],
  'message and ask': ['core/tools', '27'],
  'the files and the search of the memory': ['core/memory', '28'],
  skills: ['core/skills', '28'],
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

  test('the core imports nothing around it but what is on the list, which only shrinks', () => {
    const leaving = IMPORTS.filter(
      ({ file, target }) => file.startsWith('core/') && !target.startsWith('core/') && !isPackage(target),
    );
    const known = Object.values(LEAVING).flat();
    expect([...new Set(shown(leaving))].toSorted()).toEqual(known.toSorted());
    expect(known.length).toBeLessThanOrEqual(27);
  });

  test('each feature that waits outside of the extensions lies where the list says', () => {
    for (const [path] of Object.values(WAITING)) expect(existsSync(join(SRC, path)), path).toBe(true);
    const folders = readdirSync(join(SRC, 'app')).map((name) => `app/${name}`);
    const named = new Set([
      ...Object.values(WAITING).map(([path]) => path),
      ...Object.values(LEAVING)
        .flat()
        .map((one) => dirname(one.split(' → ')[1] ?? '')),
    ]);
    expect(folders.filter((folder) => !named.has(folder))).toEqual([]);
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
    const core = new Set(tablesIn(journalMigrations));
    const ownerOf = new Map(
      EXTENSIONS.flatMap(({ name, tables }) =>
        tablesIn(tables?.migrations ?? []).map((table) => [table, name] as const),
      ),
    );
    const reading = FILES.flatMap((file) => {
      const own = extensionOf(file);
      if (own === undefined) return [];
      const named = withoutComments(readFileSync(join(SRC, file), 'utf8')).matchAll(
        /\b(?:FROM|JOIN|INTO|UPDATE)\s+(\w+)\b/giu,
      );
      return [...named].flatMap(([, table = '']) =>
        core.has(table) || (ownerOf.get(table) ?? own) !== own ? [`${file}: ${table}`] : [],
      );
    });
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
    const left = Object.keys(LEFT).filter((one) => WORDS.has(one.split(': ')[1] ?? ''));
    expect(found.toSorted()).toEqual(left.toSorted());
  });

  test('the names of extensions, tools, operations and tables are each had once', () => {
    const names = EXTENSIONS.flatMap(({ name, operations = [], tables }) => [
      `extension ${name}`,
      ...operations.map((one) => `operation ${one.name}`),
      ...tablesIn(tables?.migrations ?? []).map((table) => `table ${table}`),
    ]);
    names.push(...FILES.flatMap((file) => toolsIn(file).map((tool) => `tool ${tool}`)));
    expect(names.length).toBe(new Set(names).size);
  });
});

function tablesIn(migrations: readonly { readonly sql: string }[]): readonly string[] {
  return migrations.flatMap(({ sql }) =>
    [...sql.matchAll(/CREATE TABLE (?:IF NOT EXISTS )?(\w+)/gu)].map(([, table]) => table ?? ''),
  );
}

/** The names of the tools that a file defines. */
function toolsIn(file: string): readonly string[] {
  return [...readFileSync(join(SRC, file), 'utf8').matchAll(/defineTool\(\{\s*name: '(\w+)'/gu)].map(
    ([, name]) => name ?? '',
  );
}

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
