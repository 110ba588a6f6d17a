import { spawn } from 'node:child_process';
import { appendFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createAssistant } from '../../src/app.ts';
import { LogFile } from '../../src/core/storage/log-file.ts';
import { openLog } from '../../src/core/util/log.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { builtProgram } from '../support/built-program.ts';
import { waitFor } from '../support/wait.ts';
import { CommandLine } from './command-line.ts';

const program = await builtProgram();

describe('assistant logs', () => {
  test('shows what a gateway logged when it no longer runs, without its secrets', async () => {
    const line = new CommandLine();
    const config = { gateway: { port: 0 }, providers: { x: { kind: 'openai', apiKey: 'sk-very-secret-0123456789' } } };
    const assistant = await createAssistant({ home: line.home, serve: 'gateway', config, logsToFile: true });
    assistant.log.warn('telegram: getUpdates failed', { reason: 'the key sk-very-secret-0123456789', count: 2 });
    await assistant[Symbol.asyncDispose]();
    expect(await line.run('logs')).toBe(0);
    const shown = line.out.split('\n').find((text) => text.includes('getUpdates'));
    expect(shown).toMatch(
      /^20\d\d-\d\d-\d\d \d\d:\d\d:\d\d {2}warn {3}telegram: getUpdates failed {2}reason=the key \S+ {2}count=2$/u,
    );
    expect(line.out).not.toContain('very-secret');
  });

  test('shows as many lines as are asked for, of a level and more serious ones, as JSON one object on each line', async () => {
    const { line, log } = await withLog();
    for (let n = 1; n <= 300; n += 1) log.info(`event ${n}`);
    log.error('the last', { error: new Error('broken') });
    expect(await line.run('logs')).toBe(0);
    expect(line.out).toContain('event 102\n');
    expect(line.out).not.toContain('event 101\n');
    line.out = '';
    expect(await line.run('logs', '--lines', '3', '--json')).toBe(0);
    const found = line.out.trim().split('\n');
    expect(found.map((text) => JSON.parse(text).message)).toEqual(['event 299', 'event 300', 'the last']);
    line.out = '';
    expect(await line.run('logs', '--level', 'warn')).toBe(0);
    expect(line.out).toMatch(/^\S+ \S+ {2}error {2}the last/u);
  });

  test('shows all lines since a time', async () => {
    const line = new CommandLine();
    const at = (minutesAgo: number): string => new Date(Date.now() - minutesAgo * 60_000).toISOString();
    write(
      line,
      [at(300), at(90), at(30)].map((time, n) => JSON.stringify({ level: 'info', time, msg: `event ${n}` })),
    );
    expect(await line.run('logs', '--since', '2h')).toBe(0);
    expect(line.out.match(/event \d/gu)).toEqual(['event 1', 'event 2']);
    line.out = '';
    expect(await line.run('logs', '--since', at(60))).toBe(0);
    expect(line.out.match(/event \d/gu)).toEqual(['event 2']);
  });

  test.each([
    ['yesterday', '--since must be as in 30m, 2h, 3d, 2027-03-01 or 2027-03-01T09:00, but "yesterday" was given.'],
    ['2027-13-01', '--since must be as in 30m, 2h, 3d, 2027-03-01 or 2027-03-01T09:00, but "2027-13-01" was given.'],
  ])('does not guess what --since %s is', async (since, sentence) => {
    const line = new CommandLine();
    expect(await line.run('logs', '--since', since)).toBe(2);
    expect(line.err).toContain(sentence);
  });

  test('shows what is no line of a log as it is, and nothing that moves the cursor', async () => {
    const line = new CommandLine({ terminal: true });
    const time = new Date().toISOString();
    const fields = { stack: 'Error: x\n    at y', name: '\u001B[2J\u202E' };
    write(line, [
      'FATAL ERROR: \u001B]0;x\u0007heap',
      JSON.stringify({ level: 'error', time, msg: 'broke', ...fields }),
    ]);
    expect(await line.run('logs')).toBe(0);
    expect(line.out).toContain('error  FATAL ERROR: ]0;xheap\n');
    expect(line.out).toContain('broke  name=[2J\\u{202e}\n    stack=Error: x\n        at y\n');
    expect(line.out).not.toContain('\u001B');
  });

  test('says where the log will be when there is none', async () => {
    const line = new CommandLine();
    expect(await line.run('logs')).toBe(0);
    expect(line.out).toBe('');
    expect(line.err).toBe(`There is no log yet. npm start writes it to ${join(line.home, 'logs/assistant.log')}.\n`);
  });

  test('with --follow shows what comes, across a change of the file, until Ctrl-C, which is no failure', async () => {
    const home = temporaryFolder();
    const path = join(home, 'logs/assistant.log');
    const file = new LogFile(path, { largest: 400 });
    const log = await openLog({ level: 'info', format: 'json' }, { stderr: false, file });
    log.info('before');
    const child = spawn(process.execPath, [program.main, 'logs', '-f', '--home', home], {
      env: program.environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let out = '';
    child.stdout.on('data', (chunk) => {
      out += String(chunk);
    });
    const exit = new Promise((resolve) => child.on('exit', (code, signal) => resolve({ code, signal })));
    await waitFor(() => out.includes('before'));
    for (let n = 0; n < 12; n += 1) {
      log.info(`event ${n}`);
      await waitFor(() => out.includes(`event ${n}\n`));
    }
    child.kill('SIGINT');
    expect(await exit).toEqual({ code: 0, signal: null });
    expect(out.match(/(?:before|event \d+)/gu)).toEqual([
      'before',
      ...Array.from({ length: 12 }, (_, n) => `event ${n}`),
    ]);
  });

  test('a gateway whose stderr goes elsewhere logs there and into its home', async () => {
    const home = temporaryFolder();
    const child = spawn(process.execPath, [program.main, 'gateway', '--port', '0', '--home', home], {
      env: program.environment(),
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    const exit = new Promise((resolve) => child.on('exit', (code) => resolve(code)));
    await waitFor(() => err.includes('"msg":"ready"'), { timeoutMs: 60_000 });
    // Its file is written after stderr.
    const isInFile = async (): Promise<boolean> => {
      const line = new CommandLine({ home });
      expect(await line.run('logs')).toBe(0);
      return / {2}info {3}ready {2}home=/u.test(line.out);
    };
    await waitFor(isInFile, { what: 'ready in the log file' });
    child.kill('SIGTERM');
    expect(await exit).toBe(0);
  });
});

async function withLog() {
  const line = new CommandLine();
  const file = new LogFile(join(line.home, 'logs/assistant.log'));
  const log = await openLog({ level: 'info', format: 'json' }, { stderr: false, file });
  return { line, log };
}

function write({ home }: CommandLine, lines: readonly string[]): void {
  const path = join(home, 'logs/assistant.log');
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${lines.join('\n')}\n`);
}
