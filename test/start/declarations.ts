import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A declared type: the file that declares it and its name there. */
interface Declared {
  readonly file: string;
  readonly name: string;
}

interface Source {
  /** Name in this file → where it comes from; without `from` it is declared here. */
  readonly names: ReadonlyMap<string, { readonly from: string | null; readonly name: string }>;
  readonly exported: ReadonlyMap<string, { readonly from: string | null; readonly name: string }>;
  /** Files of which everything is passed on. */
  readonly passedOn: readonly string[];
  /** Name → text of its declaration, without comments and texts. */
  readonly texts: ReadonlyMap<string, string>;
}

/**
 * The assistant and the program as their parts see them: of them an extension uses what its version has, without naming its
 * types. `defineExtension` and `command` give what they are given its types.
 */
const WIDE: ReadonlySet<string> = new Set([
  'App',
  'Program',
  'Journal',
  'Database',
  'SweptJournal',
  'CoreOperations',
  'Extension',
  'Contributions',
  'ChannelSettingsKind',
  'ChannelSetup',
  'CommandRecord',
  'CliCommand',
  'Argument',
  'Group',
  'Option',
]);

/**
 * What the public declarations of a package mention, directly or through others, and do not export under any name, each as
 * `NAME of FILE, mentioned by NAME`. `entry`: path of its main `.d.ts` file.
 */
export function unexported(entry: string): readonly string[] {
  const read = reader();
  const isPublic = new Set(exportsOf(entry, read).map(keyOf));
  const publicNames = new Set(exportsOf(entry, read).map(({ name }) => name));
  // A file may call an exported type by its name without importing it: `type A = Parameters<B['of']>[0]`.
  const isOwnWord = ({ file, name }: Declared): boolean => !read(file).exported.has(name) && publicNames.has(name);
  const seen = new Set<string>();
  const missing: string[] = [];
  const visit = (one: Declared, by: string): void => {
    if (seen.has(keyOf(one)) || WIDE.has(one.name)) return;
    seen.add(keyOf(one));
    if (!isPublic.has(keyOf(one)) && !isOwnWord(one)) missing.push(`${one.name} of ${one.file}, mentioned by ${by}`);
    const text = (read(one.file).texts.get(one.name) ?? '').replaceAll(/\btypeof\s+\w+/gu, '');
    for (const [word] of text.matchAll(/\b[A-Za-z_]\w*\b/gu)) {
      const found = word === one.name ? null : declarationOf(one.file, word, read);
      if (found !== null) visit(found, one.name);
    }
  };
  for (const one of exportsOf(entry, read)) visit(one, 'the package');
  return missing;
}

/** The packages that the public declarations import, directly or through files that they reach, in order. */
export function packagesOf(entry: string): readonly string[] {
  const seen = new Set<string>();
  const packages = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const imports = /(?:\bfrom|\bimport\()\s*'(?<from>[\w@.:/-]+)'/gu;
    for (const { groups } of readFileSync(file, 'utf8').matchAll(imports)) {
      const from = groups?.['from'] ?? '';
      if (from.startsWith('.')) visit(pathOf(file, from));
      else packages.add(from);
    }
  };
  visit(entry);
  return [...packages].toSorted();
}

type Read = (file: string) => Source;

function keyOf({ file, name }: Declared): string {
  return `${file} ${name}`;
}

function reader(): Read {
  const known = new Map<string, Source>();
  return (file) => {
    const source = known.get(file) ?? sourceOf(readFileSync(file, 'utf8'));
    known.set(file, source);
    return source;
  };
}

function exportsOf(file: string, read: Read): readonly Declared[] {
  const { exported, passedOn } = read(file);
  const own = [...exported.keys()].flatMap((name) => exportOf(file, name, read) ?? []);
  return [...own, ...passedOn.flatMap((from) => exportsOf(pathOf(file, from), read))];
}

function exportOf(file: string, name: string, read: Read): Declared | null {
  const found = read(file).exported.get(name);
  if (found === undefined) {
    for (const from of read(file).passedOn) {
      const inner = exportOf(pathOf(file, from), name, read);
      if (inner !== null) return inner;
    }
    return null;
  }
  if (found.from === null) return declarationOf(file, found.name, read);
  return found.from.startsWith('.') ? exportOf(pathOf(file, found.from), found.name, read) : null;
}

/** Null: the name is of another package, or none that a file declares. */
function declarationOf(file: string, name: string, read: Read): Declared | null {
  const { texts, names } = read(file);
  if (texts.has(name)) return { file, name };
  const imported = names.get(name);
  if (imported === undefined || imported.from?.startsWith('.') !== true) return null;
  const from = pathOf(file, imported.from);
  return exportOf(from, imported.name, read) ?? declarationOf(from, imported.name, read);
}

function pathOf(file: string, from: string): string {
  return join(dirname(file), from.replace(/\.ts$/u, '.d.ts'));
}

function sourceOf(text: string): Source {
  const plain = text.replaceAll(/\/\*[\s\S]*?\*\//gu, '').replaceAll(/\/\/.*$/gmu, '');
  const names = new Map<string, { from: string | null; name: string }>();
  const exported = new Map<string, { from: string | null; name: string }>();
  for (const { groups } of plain.matchAll(/^import\s+(?:type\s+)?\{(?<list>[^}]*)\}\s*from\s*'(?<from>[^']+)'/gmu)) {
    for (const [as, name] of listed(groups?.['list'])) names.set(as, { from: groups?.['from'] ?? null, name });
  }
  const lists = /^export\s+(?:type\s+)?\{(?<list>[^}]*)\}(?:\s*from\s*'(?<from>[^']+)')?/gmu;
  for (const { groups } of plain.matchAll(lists)) {
    for (const [as, name] of listed(groups?.['list'])) exported.set(as, { from: groups?.['from'] ?? null, name });
  }
  const passedOn = [...plain.matchAll(/^export\s+(?:type\s+)?\*\s*from\s*'(?<from>[^']+)'/gmu)].map(
    ({ groups }) => groups?.['from'] ?? '',
  );
  const texts = new Map<string, string>();
  let current: string | null = null;
  for (const line of plain.split('\n')) {
    const begins = /^(?<out>export )?(?:declare )?(?:interface|type|class|function|const)\s+(?<name>\w+)/u.exec(line);
    if (begins !== null) {
      current = begins.groups?.['name'] ?? '';
      if (begins.groups?.['out'] !== undefined) exported.set(current, { from: null, name: current });
    } else if (/^(?:import|export)\b/u.test(line)) current = null;
    if (current === null) continue;
    texts.set(current, `${texts.get(current) ?? ''}${line.replaceAll(/'(?:[^'\\]|\\.)*'/gu, "''")}\n`);
  }
  return { names, exported, passedOn, texts };
}

/** The names of a list in braces: as it is called here, and there. */
function listed(list = ''): readonly (readonly [string, string])[] {
  return list
    .split(',')
    .map((part) => part.trim().replace(/^type /u, ''))
    .filter((part) => part !== '')
    .map((part) => {
      const [name = '', as = name] = part.split(/\s+as\s+/u);
      return [as, name];
    });
}
