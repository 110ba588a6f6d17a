import { spawn } from 'node:child_process';
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { temporaryFolder } from '../config/temporary-home.ts';
import { childEnvironment } from '../support/child-environment.ts';

const SOURCE = fileURLToPath(new URL('../../src/', import.meta.url));
const MAIN = join(SOURCE, 'main.ts');
const LAUNCHER = join(SOURCE, 'launcher.cjs');

/** Writes the package of each module that is loaded to stderr. */
const TRACE = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  registerHooks({ resolve(name, context, next) {
    const found = next(name, context);
    const inside = found.url.split('/node_modules/').at(-1);
    if (inside !== found.url) process.stderr.write('loaded ' + inside.split('/')[0] + '\\n');
    return found;
  } });
`)}`;

interface Ended {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

function node(argv: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, argv, {
      env: childEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, out, err }));
  });
}

/** Makes a process believe that it is an older Node. */
function olderNode(): readonly string[] {
  const file = join(temporaryFolder(), 'older.cjs');
  writeFileSync(
    file,
    "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.9.0' } });",
  );
  return ['--require', file];
}

const OLD = 'assistant needs Node 24 or newer; this is Node 20.9.0. Get it from https://nodejs.org.\n';

describe('the process', () => {
  test.each(['--version', '--help'])('loads nothing but the command line for %s', async (flag) => {
    const { code, out, err } = await node(['--import', TRACE, MAIN, flag]);
    expect(code).toBe(0);
    expect(out).not.toBe('');
    expect([...new Set(err.trim().split('\n'))]).toEqual(['loaded commander', 'loaded zod']);
  });

  test('ends with the exit code of its command', async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, 'config.json'), '{');
    expect(await node([MAIN, 'status', '--home', home])).toMatchObject({
      code: 78,
      err: `${join(home, 'config.json')}:1:2: a closing } is missing. Correct the file and start again.\n`,
    });
    expect(await node([MAIN, 'nothing'])).toMatchObject({ code: 2, out: '' });
  });

  test('finds its home in the environment', async () => {
    const home = temporaryFolder();
    const { code, out } = await node([MAIN, 'status', '--json'], { ASSISTANT_HOME: home });
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ running: false, home });
  });
});

describe('the launcher', () => {
  test('starts the assistant', async () => {
    const { code, out, err } = await node([LAUNCHER, '--version']);
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });

  test('on an older Node uses the one that came with the package', async () => {
    const { code, out } = await node([...olderNode(), LAUNCHER, '--version']);
    expect(code).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });

  test('on an older Node without one says in one sentence what it needs', async () => {
    const alone = join(temporaryFolder(), 'launcher.cjs');
    copyFileSync(LAUNCHER, alone);
    expect(await node([...olderNode(), alone, '--version'])).toEqual({ code: 1, out: '', err: OLD });
  });
});
