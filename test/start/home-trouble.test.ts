import { execFile } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createAssistant } from '../../src/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { childEnvironment } from '../support/child-environment.ts';

const CHILD = fileURLToPath(new URL('../support/command-lines-child.ts', import.meta.url));
const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
/** The user that the program runs as: root may do everything. */
const UID = isRoot ? 65_534 : (process.getuid?.() ?? 0);

/** Why another user cannot run the program from here; null: it can. */
function whyNotAsOther(): string | null {
  if (!isRoot) return null;
  const closed = [CHILD, process.execPath].flatMap(foldersAbove).find((at) => (lstatSync(at).mode & 0o001) === 0);
  return closed === undefined ? null : `other users may not enter ${closed}`;
}

function foldersAbove(path: string): readonly string[] {
  const parent = dirname(path);
  return parent === path ? [] : [...foldersAbove(parent), parent];
}

const why = whyNotAsOther();
if (why !== null) process.stderr.write(`homes of other users are not tested: ${why}\n`);

let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'assistant-trouble-'));
  chmodSync(folder, 0o755);
  const home = join(folder, 'sound');
  mkdirSync(home, { mode: 0o700 });
  writeFileSync(join(home, 'config.json'), '{}', { mode: 0o600 });
  await using assistant = await createAssistant({ home, log: silentLog, environment: {} });
  await assistant.run('hi');
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Case {
  readonly what: string;
  /** Harms a sound home of the user, given its path. */
  readonly harm: (home: string) => void;
  readonly command: readonly string[];
  readonly says: (home: string) => string;
  readonly code?: number;
}

const ids = `${UID}:${isRoot ? UID : (process.getgid?.() ?? UID)}`;
const name = isRoot ? 'nobody' : '';
const belongs = (home: string, path = home): string =>
  `${path} belongs to root, and this program runs as ${name}. Run: sudo chown -R ${ids} ${home}\n`;
const closed = (path: string, mode: string): string =>
  `The permissions of ${path} do not let its owner use it (mode ${mode}). Run: chmod u+rwX ${path}\n`;
const damaged = (home: string, reason: string): string =>
  `${home}/state.db is damaged (${reason}). To go back to a backup: npm run assistant -- restore BACKUP --home ${home}. Without one, move this file away: conversations and memory are files of their own and stay.\n`;

const OWNERS: readonly Case[] = [
  ['the whole home', '', ['chat', '-m', 'hi'], 1],
  ['the whole home, for what only looks', '', ['status'], 1],
  ['the configuration', 'config.json', ['chat', '-m', 'hi'], 78],
  ['the journal', 'state.db', ['gateway', '--port', '0'], 1],
  ['the lock', 'lock', ['chat', '-m', 'hi'], 1],
  ['the folder of conversations', 'sessions', ['gateway', '--port', '0'], 1],
].map(([what, path, command, code]) => {
  const at = (home: string): string => join(home, String(path));
  return {
    what: `${String(what)} belongs to another user`,
    harm: (home) => own(at(home), 0),
    command: z.array(z.string()).parse(command),
    says: (home) => belongs(home, at(home).replace(/\/$/u, '')),
    code: Number(code),
  };
});

const OTHERS: readonly Case[] = [
  {
    what: 'the home may not be written',
    harm: (home) => chmodSync(home, 0o500),
    command: ['chat', '-m', 'hi'],
    says: (home) => closed(home, '0500'),
  },
  {
    what: 'the configuration may not be read',
    harm: (home) => chmodSync(join(home, 'config.json'), 0),
    command: ['config', 'check'],
    says: (home) => `✗ ${closed(join(home, 'config.json'), '0000')}`,
    code: 78,
  },
  {
    what: 'the configuration may not be read and is to be changed',
    harm: (home) => chmodSync(join(home, 'config.json'), 0),
    command: ['config', 'set', 'agent.model', 'demo/demo'],
    says: (home) => closed(join(home, 'config.json'), '0000'),
    code: 78,
  },
  {
    what: 'the journal may not be read',
    harm: (home) => chmodSync(join(home, 'state.db'), 0),
    command: ['gateway', '--port', '0'],
    says: (home) => closed(join(home, 'state.db'), '0000'),
  },
  {
    what: 'the journal is something else',
    harm: (home) => overwrite(home, 0),
    command: ['why'],
    says: (home) => damaged(home, 'file is not a database'),
  },
  {
    what: 'pages of the journal are something else',
    harm: (home) => overwrite(home, 4_096),
    command: ['gateway', '--port', '0'],
    says: (home) => damaged(home, 'database disk image is malformed'),
  },
];

const CASES = [...(isRoot ? OWNERS : []), ...OTHERS];

describe.skipIf(why !== null)('a command says the path, the cause and the next command when', () => {
  const results: { code: number; said: string }[] = [];
  const homeOf = (index: number): string => join(folder, `home-${index}`);

  beforeAll(async () => {
    for (const [index, { harm }] of CASES.entries()) {
      cpSync(join(folder, 'sound'), homeOf(index), { recursive: true });
      chmodSync(homeOf(index), 0o700);
      own(homeOf(index), UID);
      harm(homeOf(index));
    }
    const lines = CASES.map(({ command }, index) => [...command, '--home', homeOf(index)]);
    const { stdout } = await run(process.execPath, [CHILD, JSON.stringify(lines)], {
      env: childEnvironment({ HOME: folder }),
      ...(isRoot ? { uid: UID, gid: UID } : {}),
    });
    results.push(...z.array(z.object({ code: z.number(), said: z.string() })).parse(JSON.parse(stdout)));
  });

  test.each(CASES.map((one, index) => [one.what, one, index] as const))('%s', (_, { says, code = 1 }, index) => {
    expect(results[index]).toEqual({ code, said: says(homeOf(index)) });
  });
});

function own(path: string, uid: number): void {
  if (!isRoot) return;
  chownSync(path, uid, uid);
  if (lstatSync(path).isDirectory()) for (const entry of readdirSync(path)) own(join(path, entry), uid);
}

/** Writes other bytes over a part of the journal. */
function overwrite(home: string, from: number): void {
  writeSync(openSync(join(home, 'state.db'), 'r+'), Buffer.alloc(100_000, 'not a page '), 0, 100_000, from);
}
