import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/util/errors.ts';
import { temporaryFolder } from '../config/temporary-home.ts';
import { waitFor } from '../support/wait.ts';
import { CommandLine } from './command-line.ts';

describe('the command line', () => {
  test('shows its version', async () => {
    const line = new CommandLine();
    expect(await line.run('--version')).toBe(0);
    expect(line.out).toMatch(/^\d+\.\d+\.\d+\n$/u);
  });

  test.each([[[]], [['--help']], [['-h']]])('shows help for %j', async (argv) => {
    const line = new CommandLine();
    expect(await line.run(...argv)).toBe(0);
    for (const command of ['gateway', 'chat', 'init', 'status', 'tools', '--home']) expect(line.out).toContain(command);
    expect(line.err).toBe('');
  });

  test('shows help for a command, with the home', async () => {
    const line = new CommandLine();
    expect(await line.run('chat', '--help')).toBe(0);
    expect(line.out).toContain('--timeout <seconds>');
    expect(line.out).toContain('--home <folder>');
  });

  test.each([
    [['help'], 'Usage: assistant [options] [command]'],
    [['help', 'chat'], 'Usage: assistant chat [options]'],
    [['help', 'cron', 'add'], 'Usage: assistant cron add [options] <when> <text>'],
    [['cron', 'help', 'add'], 'Usage: assistant cron add [options] <when> <text>'],
  ])('shows help for %j', async (argv, usage) => {
    const line = new CommandLine();
    expect(await line.run(...argv)).toBe(0);
    expect(line.out).toContain(usage);
    expect(line.err).toBe('');
  });

  test('says the same of --last wherever it is', async () => {
    const helps = ['why', 'audit'].map(async (command) => {
      const line = new CommandLine();
      await line.run(command, '--help');
      return /--last.*/u.exec(line.out)?.[0].replaceAll(/\s+/gu, ' ');
    });
    expect(await Promise.all(helps)).toEqual(Array(2).fill('--last <count> how many entries to show (default: 30)'));
  });

  test('lists the tools for tools alone', async () => {
    const line = new CommandLine();
    expect(await line.run('tools')).toBe(0);
    expect(line.started).toHaveLength(1);
  });

  test.each([
    [['gatewya'], "Unknown command 'gatewya'. Did you mean gateway? See npm run assistant -- --help.\n"],
    [['gatewya', '--help'], "Unknown command 'gatewya'. Did you mean gateway? See npm run assistant -- --help.\n"],
    [['help', 'gatewya'], "Unknown command 'gatewya'. Did you mean gateway? See npm run assistant -- --help.\n"],
    [
      ['tools', 'lsit'],
      "Unknown command 'lsit' for tools. Did you mean list? See npm run assistant -- tools --help.\n",
    ],
    [['cron', 'foo'], "Unknown command 'foo' for cron. See npm run assistant -- cron --help.\n"],
    [
      ['cron', '--json', 'ad'],
      "Unknown command 'ad' for cron. Did you mean add? See npm run assistant -- cron --help.\n",
    ],
    [['pair', 'allow', 'X'], "Unknown command 'allow' for pair. See npm run assistant -- pair --help.\n"],
    [['pair', 'add', '--help'], "Unknown command 'add' for pair. See npm run assistant -- pair --help.\n"],
    [['skills', 'instal', '-h'], "Unknown command 'instal' for skills. See npm run assistant -- skills --help.\n"],
    [
      ['cron', 'list', 'x'],
      "Too many arguments for 'list'. Expected 0 arguments but got 1: x. See npm run assistant -- cron list --help.\n",
    ],
    [['chat', '--jsno'], "Unknown option '--jsno'. Did you mean --json? See npm run chat -- --help.\n"],
    [['chat', '-m'], "Option '-m, --message <text>' argument missing. See npm run chat -- --help.\n"],
    [['tools', 'run'], "Missing required argument 'name'. See npm run assistant -- tools run --help.\n"],
    [
      ['chat', '--timeout', 'soon', '-m', 'x'],
      '--timeout must be a number above 0, but "soon" was given. See npm run chat -- --help.\n',
    ],
    [
      ['gateway', '--port', 'abc'],
      '--port must be a whole number from 0 to 65535, but "abc" was given. See npm start -- --help.\n',
    ],
    [
      ['gateway', '--port', '65536'],
      '--port must be a whole number from 0 to 65535, but "65536" was given. See npm start -- --help.\n',
    ],
    [
      ['why', '--last', 'x'],
      '--last must be a whole number from 1 to 999, but "x" was given. See npm run assistant -- why --help.\n',
    ],
    [['chat', '-m', ' '], 'The message is empty. Say something with -m "…". See npm run chat -- --help.\n'],
  ])('says in one sentence what is wrong with %j', async (argv, sentence) => {
    const line = new CommandLine();
    expect(await line.run(...argv)).toBe(2);
    expect(line.err).toBe(sentence);
    expect(line.out).toBe('');
  });

  test.each([
    [(home: string) => ['--home', home, 'tools', 'list']],
    [(home: string) => ['tools', '--home', home, 'list']],
    [(home: string) => ['tools', 'list', '--home', home]],
  ])('takes the home before and after the command', async (argv) => {
    const line = new CommandLine();
    const home = temporaryFolder();
    expect(await line.run(...argv(home))).toBe(0);
    expect(line.started).toMatchObject([{ home }]);
  });

  test('ends with the sentence and the exit code of an error', async () => {
    const line = new CommandLine();
    line.startError = new AppError('home-locked', 'This home is in use by process 7.', { exitCode: 3 });
    expect(await line.run('chat', '-m', 'hi')).toBe(3);
    expect(line.err).toBe('This home is in use by process 7.\n');
  });

  test('shows no stack for what nobody expected, unless the log level is debug', async () => {
    const line = new CommandLine();
    line.startError = new Error('odd');
    expect(await line.run('chat', '-m', 'hi')).toBe(1);
    expect(line.err).toBe('Something unexpected went wrong: odd\nTo look for the cause: npm run assistant -- doctor\n');
    line.err = '';
    writeFileSync(join(line.home, 'config.json'), '{"log": {"level": "debug"}}');
    expect(await line.run('chat', '-m', 'hi')).toBe(1);
    expect(line.err).toMatch(/^Something unexpected went wrong: odd\nError: odd\n\s+at /u);
  });
});

describe('init', () => {
  test('says what it made and what it left', async () => {
    const line = new CommandLine();
    expect(await line.run('init', '--yes', '--provider', 'demo')).toBe(0);
    expect(line.out).toContain('  config.json\n');
    expect(line.out).toContain('  workspace/ (7 files)\n');
    writeFileSync(join(line.home, 'workspace', 'SOUL.md'), 'mine');
    line.out = '';
    expect(await line.run('init', '--yes', '--provider', 'demo')).toBe(0);
    expect(line.out).toContain('is already set up; nothing was changed.');
    expect(readFileSync(join(line.home, 'workspace', 'SOUL.md'), 'utf8')).toBe('mine');
  });
});

describe('page', () => {
  test('prints a link of the running assistant, in one line of a narrow terminal too', async () => {
    const line = new CommandLine({ terminal: true, columns: 40 });
    line.running = true;
    const link = `http://127.0.0.1:18790/#login=${'x'.repeat(43)}`;
    line.assistant.answers = { pageLink: async () => ({ link }) };
    expect(await line.run('page')).toBe(0);
    expect(line.out.split('\n')[0]).toBe(link);
    const programs = new CommandLine();
    programs.running = true;
    programs.assistant.answers = line.assistant.answers;
    await programs.run('page', '--json');
    expect(JSON.parse(programs.out)).toEqual({ link });
  });

  test('of an assistant that does not run is one sentence', async () => {
    const line = new CommandLine();
    expect(await line.run('page')).toBe(1);
    expect(line.err).toBe(`No assistant runs in ${line.home}. Start it with: npm start\n`);
  });
});

describe('status', () => {
  test('of a running assistant says where it serves and how to open the page', async () => {
    const line = new CommandLine();
    line.running = true;
    line.assistant.facts = { ...line.assistant.facts, http: 'http://127.0.0.1:1' };
    expect(await line.run('status')).toBe(0);
    expect(line.out).toContain(
      'http      http://127.0.0.1:1\npage      for a link that opens it in a browser: npm run assistant -- page\n',
    );
  });

  test('when nothing runs says what auto means now, how to start, and which channel has no owner', async () => {
    const line = new CommandLine();
    const telegram = { token: '1:a', allowFrom: ['1001', '@ann'] };
    writeFileSync(join(line.home, 'config.json'), JSON.stringify({ channels: { telegram } }));
    expect(await line.run('status')).toBe(0);
    expect(line.out).toContain(
      'model     auto (now demo/scripted: no key of a model provider is set, so the scripted demo answers)\n',
    );
    expect(line.out).toContain('start     npm start, or talk here: npm run chat\n');
    expect(line.out).toContain('⚠ channels.telegram lists @ann, which lets no one in');
    expect(line.out).toContain('⚠ channels.telegram has no owner');
    expect(line.out).toContain('Set channels.telegram.owners to ["1001"],');
    const keyed = new CommandLine();
    keyed.env = { ANTHROPIC_API_KEY: 'k' };
    await keyed.run('status');
    expect(keyed.out).toMatch(/model {5}auto \(now anthropic\/[^):]+\)\n/u);
  });

  test.each([['--home', 'status'], ['status', '--home'], []])(
    'of a home that the command line names suggests commands for that home: %j',
    async (...words) => {
      const line = new CommandLine();
      const argv = words.flatMap((word) => (word === '--home' ? [word, line.home] : [word]));
      expect(await line.run(...(argv.length === 0 ? [`--home=${line.home}`, 'status'] : argv))).toBe(0);
      expect(line.out).toContain(
        `npm start -- --home ${line.home}, or talk here: npm run chat -- --home ${line.home}\n`,
      );
      line.out = '';
      expect(await line.run('status')).toBe(0);
      expect(line.out).toContain('npm start, or talk here: npm run chat\n');
    },
  );

  test('tells what it can see when nothing runs', async () => {
    const line = new CommandLine();
    line.env = { TELEGRAM_BOT_TOKEN: '1:a' };
    writeFileSync(join(line.home, 'config.json'), '{"agnt": {}}');
    expect(await line.run('status')).toBe(0);
    expect(line.out).toContain('not running\n');
    expect(line.out).toContain('channels  telegram');
    expect(line.out).toContain('⚠ The setting "agnt" is not known');
    expect(line.started).toEqual([]);
  });

  test('as JSON says the same', async () => {
    const line = new CommandLine();
    expect(await line.run('status', '--json')).toBe(0);
    expect(JSON.parse(line.out)).toEqual({
      running: false,
      modelNow: 'demo/scripted',
      voice: null,
      speech: null,
      search: null,
      home: line.home,
      config: { path: join(line.home, 'config.json'), exists: false },
      model: 'auto',
      channels: [],
      warnings: [],
    });
  });

  test('asks the assistant that runs', async () => {
    const line = new CommandLine();
    line.running = true;
    line.assistant.facts = {
      ...line.assistant.facts,
      startedAt: Date.now() - 3_720_000,
      channels: { telegram: { state: 'failed', detail: 'the token was revoked' } },
      warnings: ['Careful.'],
    };
    expect(await line.run('status')).toBe(0);
    expect(line.out).toContain('running, process 42, version 1.2.3, for 1 h 2 min');
    expect(line.out).toContain('telegram: failed (the token was revoked)');
    expect(line.out).toContain('⚠ Careful.');
    line.out = '';
    await line.run('status', '--json');
    expect(JSON.parse(line.out)).toMatchObject({ running: true, model: 'demo/scripted' });
    expect(line.assistant.disposed).toBe(2);
  });

  test('of a configuration that cannot run is an error', async () => {
    const line = new CommandLine();
    writeFileSync(join(line.home, 'config.json'), '{"gateway": }');
    expect(await line.run('status')).toBe(78);
    expect(line.err).toContain('config.json:1:13: a value is missing');
  });
});

describe('tools', () => {
  test('list shows names and first sentences', async () => {
    const line = new CommandLine();
    expect(await line.run('tools', 'list')).toBe(0);
    expect(line.out).toBe('exec       Runs a command. (owner only)\nread_file  Reads a file.\n');
    line.out = '';
    await line.run('tools', 'list', '--json');
    expect(JSON.parse(line.out)).toMatchObject([{ name: 'exec', effect: 'effect' }, { name: 'read_file' }]);
  });

  test.each([
    [['read_file', '{"path":"a"}'], 0, { decision: 'allow', reason: null, result: { output: '{"path":"a"}' } }],
    [['read_file'], 0, { result: { output: '{}' } }],
    [['read_file', '{}', '--dry-run'], 0, { decision: 'allow', result: null }],
    [['broken', '{}'], 1, { decision: 'allow', result: { isError: true } }],
    [['exec', '{}'], 1, { decision: 'deny', reason: 'not here', result: null }],
  ])('run %j ends with %d', async (argv, code, report) => {
    const line = new CommandLine();
    expect(await line.run('tools', 'run', ...argv)).toBe(code);
    expect(JSON.parse(line.out)).toMatchObject(report);
    expect(line.assistant.disposed).toBe(1);
  });
});

describe('prompt', () => {
  test('shows, with --full, the whole of what the model reads: the system prompt and every tool with its fields', async () => {
    const line = new CommandLine();
    const fields = { path: { type: 'string', description: 'Path of the file, e.g. a.md.' } };
    line.assistant.answers = {
      prompt: async () => ({
        session: 'terminal:main',
        model: 'demo/scripted',
        layers: [{ name: 'identity', text: '# Assistant', tokens: 4 }],
        tools: {
          count: 1,
          tokens: 30,
          specs: [
            { name: 'read_file', description: 'Read a file.', parameters: { type: 'object', properties: fields } },
          ],
        },
        conversation: { messages: 0, tokens: 0 },
        used: 34,
        window: 1_000,
      }),
    };
    expect(await line.run('prompt')).toBe(0);
    expect(line.out).not.toContain('Read a file.');
    line.out = '';
    expect(await line.run('prompt', '--full')).toBe(0);
    expect(line.out).toContain('# Assistant\n\n---\n\n# Tools\n\n## read_file\n\nRead a file.\n\n');
    expect(line.out).toContain('"description": "Path of the file, e.g. a.md."');
    expect(line.out).toMatch(/tools +30 tokens +1\n/u);
  });
});

describe('gateway', () => {
  test('serves until SIGTERM, and says once that it is ready', async () => {
    const line = new CommandLine();
    line.assistant.facts = { ...line.assistant.facts, http: 'http://127.0.0.1:1', warnings: ['Careful.'] };
    const ended = line.run('gateway', '--port', '0');
    await waitFor(() => line.logged.some(({ message }) => message === 'ready'));
    expect(line.started).toMatchObject([{ home: line.home, serve: 'gateway', config: { gateway: { port: 0 } } }]);
    line.signal('SIGTERM');
    expect(await ended).toBe(0);
    expect(line.assistant.disposed).toBe(1);
    expect(line.exits).toEqual([]);
    const ready = line.logged.filter(({ message }) => message === 'ready');
    expect(ready).toMatchObject([
      { fields: { model: 'demo/scripted', channels: ['terminal'], http: 'http://127.0.0.1:1' } },
    ]);
    expect(line.logged[0]).toEqual({ message: 'config: warning', fields: { warning: 'Careful.' } });
    expect(line.out).toBe('');
  });

  test('shows how to open the page to a person in its terminal, and to no log', async () => {
    for (const terminal of [true, false]) {
      const line = new CommandLine({ terminal });
      line.assistant.answers = { pageLink: async () => ({ link: 'http://127.0.0.1:1/#login=abc' }) };
      const ended = line.run('gateway');
      await waitFor(
        () => line.logged.some(({ message }) => message === 'ready') && (!terminal || /you ›/u.test(line.out)),
      );
      const shown =
        'In a browser too, with this link (it works once, for ten minutes):\nhttp://127.0.0.1:1/#login=abc\n';
      if (terminal) expect(line.out).toContain(shown);
      else expect(`${line.out}${line.err}${JSON.stringify(line.logged)}`).not.toContain('login');
      line.signal('SIGTERM');
      expect(await ended).toBe(0);
    }
  });

  test('exits at once at the second signal', async () => {
    const line = new CommandLine();
    const stopping = Promise.withResolvers<void>();
    line.assistant[Symbol.asyncDispose] = () => stopping.promise;
    const ended = line.run('gateway');
    await waitFor(() => line.logged.length > 0);
    line.signal('SIGINT');
    line.signal('SIGINT');
    expect(line.exits).toEqual([130]);
    stopping.resolve();
    expect(await ended).toBe(0);
  });

  test('talks in its terminal when there is no chat platform', async () => {
    const line = new CommandLine({ terminal: true });
    const ended = line.run('gateway');
    await waitFor(() => line.out.includes('you › '));
    line.type('hello\r');
    await waitFor(() => line.out.includes('You said: hello'));
    line.type('\u0004');
    expect(await ended).toBe(0);
    expect(line.assistant.disposed).toBe(1);
  });

  test('logs to a file while its conversation has the screen; a warning about the settings is a sentence there', async () => {
    const line = new CommandLine({ terminal: true });
    line.assistant.facts = { ...line.assistant.facts, warnings: ['Careful.'] };
    const ended = line.run('gateway');
    await line.shows('you ›');
    line.type('\u0004');
    await ended;
    expect(line.started[0]).toMatchObject({ config: {}, logsToFile: true });
    expect(line.err).toBe('⚠ Careful.\n');
    expect(line.logged.some(({ message }) => message === 'config: warning')).toBe(true);
    const chat = new CommandLine({ terminal: true });
    await chat.run('chat', '-m', 'hello');
    expect(chat.started[0]).toMatchObject({ config: {}, logsToFile: true });
  });

  test.each([
    ['warnings', {}, { log: { level: 'warn' } }],
    ['what the configuration asks for', { log: { level: 'info' } }, {}],
  ])('one message whose stderr goes elsewhere logs %s there', async (_, config, expected) => {
    const line = new CommandLine({ terminal: true });
    line.stderr.isTTY = false;
    writeFileSync(join(line.home, 'config.json'), JSON.stringify(config));
    await line.run('chat', '-m', 'hello');
    expect(line.started[0]).toMatchObject({ config: expected, logsToFile: false });
  });

  test('logs everything where the log goes elsewhere', async () => {
    const line = new CommandLine({ terminal: true });
    line.stderr.isTTY = false;
    const ended = line.run('gateway');
    await waitFor(() => line.out.includes('you › '));
    line.type('\u0004');
    await ended;
    expect(line.started[0]).toMatchObject({ config: {}, logsToFile: false });
  });

  test('does not talk there when there is one', async () => {
    const line = new CommandLine({ terminal: true });
    line.assistant.facts = {
      ...line.assistant.facts,
      channels: { terminal: { state: 'running' }, telegram: { state: 'running' } },
    };
    const ended = line.run('gateway');
    await waitFor(() => line.logged.length > 0);
    line.signal('SIGTERM');
    expect(await ended).toBe(0);
    expect(line.out).toBe('');
  });
});
