import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';

const SRC = join(dirname(fileURLToPath(import.meta.url)), '..', 'src');

/** What each module may import besides itself: modules, or single files of modules. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  util: [],
  storage: ['util'],
  bus: ['util'],
  config: ['util', 'storage'],
  security: ['util', 'storage', 'bus/messages.ts'],
  providers: ['util'],
  journal: ['util', 'storage', 'bus'],
  session: ['util', 'storage', 'providers/provider.ts'],
  memory: ['util', 'storage', 'session', 'providers/provider.ts'],
  skills: ['util', 'storage', 'security'],
  tools: ['util', 'storage', 'bus', 'security', 'providers/provider.ts'],
  agent: ['util', 'storage', 'bus', 'journal', 'providers', 'session', 'memory', 'skills', 'tools', 'security'],
  channels: ['util', 'storage', 'bus', 'journal', 'security'],
  gateway: ['util', 'storage', 'bus', 'security', 'channels/channel.ts', 'tools/mcp/server-facts.ts'],
  page: [
    'gateway/operations/operations.ts',
    'gateway/operations/files.ts',
    'gateway/operations/health.ts',
    'gateway/operations/sessions.ts',
    'gateway/operations/skills.ts',
    'gateway/operations/traces.ts',
    'gateway/operations/usage.ts',
    'gateway/http/wire.ts',
    'bus/messages.ts',
    'util/line-diff.ts',
  ],
  acp: [
    'util',
    'bus',
    'storage',
    'gateway/assistant-port.ts',
    'gateway/operations/editors.ts',
    'gateway/operations/health.ts',
    'gateway/operations/sessions.ts',
  ],
  setup: [
    'util',
    'storage',
    'config',
    'providers',
    'security/sandbox/probe.ts',
    'extensions/telegram/errors.ts',
    'extensions/telegram/transport.ts',
    'channels/discord/api.ts',
    'channels/discord/errors.ts',
    'extensions/slack/errors.ts',
    'extensions/slack/socket.ts',
    'extensions/slack/web-client.ts',
  ],
  service: ['util', 'storage'],
  homes: [
    'util',
    'storage',
    'session/stored-tapes.ts',
    'session/tape-name.ts',
    'session/tape.ts',
    'backup/contents.ts',
  ],
  backup: ['util', 'storage', 'journal/schema.ts', 'service/program.ts', 'service/npm.ts'],
  doctor: [
    'util',
    'bus/origins.ts',
    'storage',
    'config',
    'journal',
    'providers',
    'service',
    'session/tape-name.ts',
    'security/redact/redact.ts',
    'security/sandbox/probe.ts',
    'gateway/token.ts',
    'homes',
    'extensions/telegram/errors.ts',
    'extensions/telegram/transport.ts',
    'setup/channels/discord.ts',
    'extensions/slack/setup.ts',
    'extensions/telegram/setup.ts',
    'setup/channels/token.ts',
    'setup/models.ts',
    'setup/scan.ts',
  ],
  cli: [
    'acp/serve.ts',
    'util',
    'config',
    'backup',
    'service',
    'doctor',
    'app/doctor-ports.ts',
    'setup/setup.ts',
    'app.ts',
    'app/start/home-at-rest.ts',
    'app/storage/fleet-report.ts',
    'app/storage/home-trouble.ts',
    'app/traces/live.ts',
    'app/traces/on-disk.ts',
    'app/traces/replay.ts',
    'app/extensions/skill-installer.ts',
    'app/extensions/packages.ts',
    'app/extensions/plugin-installer.ts',
    'app/extensions/browser-installer.ts',
    'app/skill-lab/skill-lab.ts',
    'extensions/terminal/markup.ts',
    'extensions/terminal/markup-code.ts',
    'channels/markup/terminal-text.ts',
    'storage/line-history.ts',
    'storage/log-reader.ts',
    'security/redact/redact.ts',
    'gateway/control.ts',
    'gateway/assistant-port.ts',
    'gateway/operations/operations.ts',
    'gateway/operations/memory.ts',
    'gateway/operations/schedule.ts',
    'gateway/operations/sessions.ts',
    'gateway/operations/traces.ts',
    'gateway/operations/usage.ts',
    'storage/copy-database.ts',
    'storage/lock.ts',
  ],
  'main.ts': ['cli', 'extensions/index.ts'],
};

/** Contracts, whose types a plugin may import. */
const CONTRACTS = new Set([
  'channels/channel.ts',
  'providers/provider.ts',
  'tools/tool.ts',
  'agent/commands/command.ts',
  'agent/hooks/hooks.ts',
  'session/stored-tapes.ts',
]);

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

const moduleOf = (file: string): string => (file.includes('/') ? (file.split('/')[0] ?? file) : file);

const IMPORTS = FILES.flatMap(importsOf);

describe('module boundaries', () => {
  test('every module has a row in the table', () => {
    const modules = new Set(
      FILES.map(moduleOf).filter(
        (name) => !['app', 'app.ts', 'build.ts', 'plugins', 'core', 'extensions'].includes(name),
      ),
    );
    expect([...modules].filter((name) => MAY_IMPORT[name] === undefined)).toEqual([]);
  });

  test('no module imports what its row does not name', () => {
    const crossings = IMPORTS.filter(({ file, target, typeOnly }) => {
      const from = moduleOf(file);
      if (from === moduleOf(target) || from === 'build.ts') return false;
      // `test/extensions/edges.test.ts` says what extensions may import; types may come from everywhere in the core.
      if (from === 'extensions' || from === 'core' || typeOnly || target.startsWith('core/')) return false;
      // It puts the page together.
      if (file === 'page/main.tsx' && target === 'extensions/panels.ts') return false;
      // The composition root: app.ts and its parts, which only it and the named files of cli may import.
      if (from === 'app.ts' || from === 'app')
        return moduleOf(target) === 'cli' || (target === 'app.ts' && from === 'app');
      if (from === 'plugins') return moduleOf(target) !== 'util' && !(typeOnly && CONTRACTS.has(target));
      const allowed = MAY_IMPORT[from] ?? [];
      return !allowed.includes(moduleOf(target)) && !allowed.includes(target);
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
    ['the environment is read in config only', /\bprocess\.env\b/u, ['config/', 'build.ts']],
    [
      'timers and the wall clock are taken from util',
      /\bDate\.now\(|\bsetTimeout\(|\bsetInterval\(|\bMath\.random\(/u,
      ['util/', 'build.ts', 'page/clock.ts'],
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
