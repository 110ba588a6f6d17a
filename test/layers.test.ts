import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SRC = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');

/** What the lower folders of the core may import beside themselves: folders, or single files of them. The others may import all of the core. */
const CORE: Readonly<Record<string, readonly string[]>> = {
  'core/util': [],
  'core/storage': ['core/util'],
  'core/bus': ['core/util'],
  'core/config': ['core/util', 'core/storage'],
  'core/security': ['core/util', 'core/storage', 'core/bus/messages.ts'],
  'core/providers': ['core/util'],
  'core/journal': ['core/util', 'core/storage', 'core/bus'],
  'core/session': ['core/util', 'core/storage', 'core/providers/provider.ts'],
  'core/memory': ['core/util', 'core/storage', 'core/session', 'core/providers/provider.ts'],
  'core/skills': ['core/util', 'core/storage', 'core/security', 'core/config/version.ts', 'core/bus/messages.ts'],
  'core/files': ['core/util', 'core/storage', 'core/bus', 'core/security', 'core/tools/registry/result.ts'],
  'core/tools': ['core/util', 'core/storage', 'core/bus', 'core/files', 'core/security', 'core/providers/provider.ts'],
  'core/channels': ['core/util', 'core/storage', 'core/bus', 'core/journal', 'core/security'],
};

/** What may be imported beside the core. `test/extensions/edges.test.ts` says it of the core and of extensions. */
const AROUND: Readonly<Record<string, readonly string[]>> = {
  acp: [],
  app: ['backup', 'host', 'service', 'setup', 'doctor'],
  'app.ts': ['app', 'backup', 'host', 'extensions/index.ts'],
  backup: ['service'],
  cli: ['acp', 'app', 'app.ts', 'backup', 'doctor', 'host', 'service', 'setup'],
  doctor: ['host', 'service', 'setup'],
  host: ['app.ts', 'backup'],
  'main.ts': ['cli', 'extensions/index.ts'],
  page: ['extensions/panels.ts'],
  service: [],
  setup: [],
};

/** The few files of the core that the page reads: they hold types and what runs everywhere. */
const READ_BY_PAGE =
  /^core\/(?:gateway\/operations\/|gateway\/http\/wire\.ts|bus\/(?:live-turn|messages)\.ts|util\/line-diff\.ts)/u;

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    if (statSync(path).isDirectory()) return sourceFiles(path);
    return /\.tsx?$/u.test(name) ? [path] : [];
  });
}

const FILES = sourceFiles(SRC).map((path) => relative(SRC, path).split(sep).join('/'));

function importsOf(file: string): Import[] {
  const text = readFileSync(join(SRC, file), 'utf8');
  const pattern =
    /(?:^|\n)\s*(?<kind>import|export)\s+(?<type>type\s)?[^;'"]*?from\s+'(?<from>\.[^']+)'|import\(\s*'(?<dynamic>\.[^']+)'\s*\)|(?:^|\n)import\s+'(?<bare>\.[^']+)'/gu;
  return [...text.matchAll(pattern)].map((match) => {
    const specifier = match.groups?.['from'] ?? match.groups?.['dynamic'] ?? match.groups?.['bare'] ?? '';
    return {
      file,
      target: normalize(join(dirname(file), specifier))
        .split(sep)
        .join('/'),
      typeOnly: match.groups?.['type'] !== undefined,
    };
  });
}

const moduleOf = (file: string): string => {
  const [first = '', second = ''] = file.split('/');
  return first === 'core' && !second.includes('.') ? `core/${second}` : first;
};

const IMPORTS = FILES.flatMap(importsOf);

describe('module boundaries', () => {
  test('every folder around the core has a row in the table', () => {
    const around = new Set(FILES.map(moduleOf).filter((name) => !name.startsWith('core') && name !== 'extensions'));
    expect([...around].toSorted()).toEqual(Object.keys(AROUND).toSorted());
  });

  test('no module imports what its row does not name', () => {
    const crossings = IMPORTS.filter(({ file, target, typeOnly }) => {
      const [from, to] = [moduleOf(file), moduleOf(target)];
      // Types may come from everywhere in the core.
      if (from === to || from === 'extensions' || (typeOnly && to.startsWith('core'))) return false;
      if (from.startsWith('core')) {
        if (!to.startsWith('core/')) return false;
        return !(CORE[from] ?? [to]).some((name) => name === to || name === target);
      }
      if (from === 'page' && to.startsWith('core')) return !READ_BY_PAGE.test(target);
      return !to.startsWith('core') && !(AROUND[from] ?? []).some((name) => name === to || name === target);
    });
    expect(crossings.map(({ file, target }) => `${file} → ${target}`)).toEqual([]);
  });

  test('imports name the file itself', () => {
    const missing = IMPORTS.filter(({ target }) => !FILES.includes(target) && !target.endsWith('.json'));
    expect(missing.map(({ file, target }) => `${file} → ${target}`)).toEqual([]);
  });

  test('there are no import cycles', () => {
    const graph = new Map<string, string[]>();
    for (const { file, target } of IMPORTS.filter(({ typeOnly }) => !typeOnly))
      graph.set(file, [...(graph.get(file) ?? []), target]);
    expect(cycle(graph)).toEqual([]);
  });

  test('no file is longer than 500 lines', () => {
    const long = FILES.filter((file) => readFileSync(join(SRC, file), 'utf8').split('\n').length > 501);
    expect(long).toEqual([]);
  });

  test.each([
    ['the environment is read in config only', /\bprocess\.env\b/u, ['core/config/']],
    [
      'timers and the wall clock are taken from util',
      /\bDate\.now\(|\bsetTimeout\(|\bsetInterval\(|\bMath\.random\(/u,
      ['core/util/', 'page/clock.ts'],
    ],
  ])('%s', (_rule, pattern, allowed) => {
    const breaking = FILES.filter((file) => !allowed.some((prefix) => file.startsWith(prefix))).filter((file) =>
      pattern.test(withoutComments(readFileSync(join(SRC, file), 'utf8'))),
    );
    expect(breaking).toEqual([]);
  });
});

function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|(?<![:'"`])\/\/.*$/gmu, '');
}

function cycle(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): readonly string[] => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const next of graph.get(file) ?? []) {
      const found = visit(next, [...path, file]);
      if (found.length > 0) return found;
    }
    done.add(file);
    return [];
  };
  for (const file of graph.keys()) {
    const found = visit(file, []);
    if (found.length > 0) return found;
  }
  return [];
}
