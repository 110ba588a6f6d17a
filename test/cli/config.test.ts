import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { writeProgram } from '../support/program-file.ts';
import { CommandLine } from './command-line.ts';

const FILE = `{
  // The model that answers.
  "agent": { "model": "demo/scripted" }, // kept
  "providers": { "openai": { "apiKey": "sk-plain-secret" } },
  "channels": {
    "telegram": { "token": "\${BOT_TOKEN}", "allowFrom": ["1"], "owners": ["1"] },
  },
}
`;

/** A command line in a home with this configuration file. */
function lineWith(text: string | null = FILE): CommandLine {
  const line = new CommandLine();
  if (text !== null) writeFileSync(join(line.home, 'config.json'), text, { mode: 0o600 });
  return line;
}

const fileOf = (line: CommandLine): string => readFileSync(join(line.home, 'config.json'), 'utf8');

/** What a command prints; it must succeed. */
async function said(line: CommandLine, ...argv: readonly string[]): Promise<string> {
  line.out = '';
  expect([await line.run(...argv), line.err]).toEqual([0, '']);
  return line.out;
}

describe('config get', () => {
  test('shows a value and where it is from', async () => {
    const line = lineWith();
    line.env = { ASSISTANT_AGENT__MAX_ITERATIONS: '7', ANTHROPIC_BASE_URL: 'http://127.0.0.1:1' };
    expect(await said(line, 'config', 'get', 'agent.model')).toBe(`"demo/scripted"  (${line.home}/config.json)\n`);
    expect(await said(line, 'config', 'get', 'agent.maxIterations')).toBe(
      '7  (the variable ASSISTANT_AGENT__MAX_ITERATIONS)\n',
    );
    expect(await said(line, 'config', 'get', 'cron.graceMinutes')).toBe('720  (the default)\n');
    expect(await said(line, 'config', 'get', 'providers.anthropic.baseUrl')).toBe(
      '"http://127.0.0.1:1"  (the variable ANTHROPIC_BASE_URL)\n',
    );
    expect(JSON.parse(await said(line, 'config', 'get', 'channels.telegram.owners', '--json'))).toEqual({
      path: 'channels.telegram.owners',
      value: ['1'],
      isSecret: false,
      from: join(line.home, 'config.json'),
    });
  });

  test('never shows a secret: it says that it is set, and from where', async () => {
    const line = lineWith();
    writeFileSync(join(line.home, 'slack'), 'xoxb-from-a-file');
    const slack = '"slack": {"botToken": {"file": "slack"}, "appToken": "xapp-plain"}, "telegram"';
    writeFileSync(join(line.home, 'config.json'), FILE.replace('"telegram"', slack), { mode: 0o600 });
    line.env = { BOT_TOKEN: '1:from-a-variable', GROQ_API_KEY: 'gsk-usual' };
    const lines = [
      ['providers.openai.apiKey', `set, from ${line.home}/config.json; a secret is not shown`],
      [
        'channels.telegram.token',
        `set, from the variable BOT_TOKEN, named in ${line.home}/config.json; a secret is not shown`,
      ],
      ['channels.slack.botToken', `set, from the file slack, named in ${line.home}/config.json; a secret is not shown`],
      ['providers.groq.apiKey', 'set, from the variable GROQ_API_KEY; a secret is not shown'],
    ];
    for (const [path = '', sentence] of lines) {
      expect(await said(line, 'config', 'get', path)).toBe(`${sentence}\n`);
    }
    expect(await said(line, 'config', 'get', 'gateway.token')).toBe('null  (the default)\n');
    for (const argv of [
      ['config', 'get'],
      ['config', 'get', '--json'],
      ['config', 'get', 'channels'],
    ]) {
      const all = await said(line, ...argv);
      expect(all).toContain('(set)');
      expect(all).not.toMatch(/sk-plain|from-a-|xapp-plain|gsk-usual/u);
    }
  });

  test('says that a variable which the file names is not set', async () => {
    expect(await said(lineWith(), 'config', 'get', 'channels.telegram.token')).toContain(
      'names the variable BOT_TOKEN, which is not set',
    );
  });

  test.each([
    ['agent.modle', 1, 'There is no setting agent.modle. To see all of them, run: npm run assistant -- config get'],
    ['agent..model', 2, '"agent..model" is not the name of a setting. Write it as in agent.model'],
  ])('of what is no setting says so: %s', async (path, code, sentence) => {
    const line = lineWith();
    expect(await line.run('config', 'get', path)).toBe(code);
    expect(line.err).toContain(sentence);
  });
});

describe('config set', () => {
  test('changes the value and nothing else of the file', async () => {
    const line = lineWith();
    expect(await said(line, 'config', 'set', 'agent.reasoning', 'low')).toBe(
      `agent.reasoning is set in ${line.home}/config.json.\n`,
    );
    expect(fileOf(line)).toBe(FILE.replace('"demo/scripted" }', '"demo/scripted", "reasoning": "low" }'));
    await said(line, 'config', 'unset', 'agent.reasoning');
    expect(fileOf(line)).toBe(FILE);
  });

  test('leaves comments where they belong', async () => {
    const line = lineWith(
      '{\r\n  "agent": {\r\n    "maxIterations": 3 // three\r\n    // more\r\n  },\r\n  "log": {}\r\n}\r\n',
    );
    await said(line, 'config', 'set', 'agent.budget.dayUsd', '2');
    await said(line, 'config', 'set', 'log.level', 'warn');
    expect(fileOf(line).split('\r\n')).toEqual([
      '{',
      '  "agent": {',
      '    "maxIterations": 3, // three',
      '    "budget": {',
      '      "dayUsd": 2',
      '    }',
      '    // more',
      '  },',
      '  "log": {',
      '    "level": "warn"',
      '  }',
      '}',
      '',
    ]);
  });

  test.each([
    ['{\n  "log": {}, // of the log\n  "agent": {} // gone\n}', '{\n  "log": {} // of the log\n}'],
    ['{\n  // kept\n  "agent": {\n  },\n  "log": {}\n}', '{\n  // kept\n  "log": {}\n}'],
    ['{ "agent": {}, "log": {} }', '{ "log": {} }'],
    ['{ "log": {}, "agent": {} }', '{ "log": {} }'],
    ['{ "log": {}, "agent": {}, }', '{ "log": {}, }'],
    ['{ "agent": {} }', '{  }'],
    ['{"log": {}, // a\n /* b */ "agent": {}}', '{"log": {} // a\n /* b */ }'],
  ])('takes out one setting: %j', async (text, left) => {
    const line = lineWith(text);
    await said(line, 'config', 'unset', 'agent');
    expect(fileOf(line)).toBe(left);
  });

  test('takes texts, numbers, lists, objects and names that hold a dot', async () => {
    const line = lineWith();
    await said(line, 'config', 'set', 'agent.maxIterations', '12');
    await said(line, 'config', 'set', 'tools.deny', 'exec,cron');
    await said(line, 'config', 'set', 'channels.telegram.owners.0', '22');
    await said(line, 'config', 'set', 'models["openai/gpt-5.1"]', '{"contextWindow": 5000}');
    await said(line, 'config', 'set', 'agent.timezone', 'null');
    expect(JSON.parse(await said(line, 'config', 'get', 'models', '--json'))).toMatchObject({
      value: { 'openai/gpt-5.1': { contextWindow: 5000 } },
    });
    expect(fileOf(line)).toContain('"owners": ["22"]');
    expect(await said(line, 'config', 'get', 'tools.deny')).toContain('"exec"');
  });

  test('reads a secret from stdin, and does not repeat it', async () => {
    const line = lineWith();
    line.stdin.end('sk-typed-secret\n');
    const out = await said(line, 'config', 'set', 'providers.groq.apiKey', '-');
    expect(out).toContain('providers.groq.apiKey is set');
    expect(out).not.toContain('sk-typed');
    expect(fileOf(line)).toContain('"groq": { "apiKey": "sk-typed-secret" }');
  });

  test.each([
    [
      ['agent.maxIterations', 'ten'],
      'agent.maxIterations must be a whole number of at least 1, but "ten" was given. Nothing was changed.',
    ],
    [['agent.modle', 'x'], 'The setting "agent.modle" is not known and has no effect. Did you mean "agent.model"?'],
    [['channels.telegram.tokn', 'x'], 'Did you mean "channels.telegram.token"?'],
    [['agent.model', 'nobody/model'], 'names a provider that is not known: "nobody"'],
    [['agent.model.name', 'x'], 'config.json cannot be edited: agent.model.name stands below something'],
    [['providers.openai.baseUrl', 'sk-at-the-wrong-place'], 'must be an http:// or https:// address, but another text'],
    [['gateway.token', '{"file": "nowhere"}'], 'gateway.token is to be read from'],
  ])('writes nothing that could not run: %j', async (argv, sentence) => {
    const line = lineWith();
    expect(await line.run('config', 'set', ...argv)).toBe(78);
    expect(line.err).toContain(sentence);
    expect(line.err).not.toContain('wrong-place');
    expect(fileOf(line)).toBe(FILE);
  });

  test('corrects one of two mistakes, and says what is still wrong', async () => {
    const line = lineWith('{"agent": {"maxIterations": 0},\n "log": {"level": 1}}');
    const out = await said(line, 'config', 'set', 'log.level', 'warn');
    expect(out).toContain('⚠ Still wrong: ');
    expect(out).toContain('config.json:1:29: agent.maxIterations must be');
    expect(fileOf(line)).toContain('"level": "warn"');
  });

  test('says that a variable wins over it', async () => {
    const line = lineWith();
    line.env = { ASSISTANT_AGENT__REASONING: 'high' };
    const out = await said(line, 'config', 'set', 'agent.reasoning', 'low');
    expect(out).toContain('⚠ The variable ASSISTANT_AGENT__REASONING sets it too, and wins.');
  });

  test('says when the assistant that runs takes it up, or why it does not', async () => {
    const line = lineWith();
    line.running = true;
    const changes = [
      { path: 'agent.reasoning', effect: 'live' },
      { path: 'channels.telegram', effect: 'rebuild' },
      { path: 'gateway.port', effect: 'restart' },
    ] as const;
    line.assistant.answers = { configReload: async () => ({ changes, refused: null }) };
    expect((await said(line, 'config', 'set', 'agent.reasoning', 'low')).split('\n').slice(1, -1)).toEqual([
      'agent.reasoning is in force from the next message on.',
      'channels.telegram is in force: what it belongs to was started anew.',
      'gateway.port is in force after a restart: send /restart to the assistant.',
    ]);
    line.assistant.answers = { configReload: async () => ({ changes: [], refused: 'Something is wrong.' }) };
    expect(await said(line, 'config', 'set', 'agent.reasoning', 'high')).toContain(
      '⚠ The assistant that runs did not take it up: Something is wrong.',
    );
  });

  test('makes the file where there is none, and keeps a link to a file elsewhere', async () => {
    const fresh = lineWith(null);
    fresh.env = {};
    expect(await fresh.run('config', 'set', 'agent.maxIterations', '5')).toBe(0);
    expect(fileOf(fresh)).toMatch(/\/\/ Settings of your assistant[\s\S]*"maxIterations": 5/u);
    const linked = new CommandLine();
    const elsewhere = join(linked.home, 'elsewhere.json');
    writeFileSync(elsewhere, '{}', { mode: 0o600 });
    symlinkSync(elsewhere, join(linked.home, 'config.json'));
    await said(linked, 'config', 'set', 'agent.maxIterations', '5');
    expect(readFileSync(elsewhere, 'utf8')).toContain('5');
  });

  test('is refused where a variable holds the configuration', async () => {
    const line = lineWith();
    line.env = { ASSISTANT_CONFIG: '{}' };
    expect(await line.run('config', 'set', 'agent.maxIterations', '5')).toBe(1);
    expect(line.err).toContain('The variable ASSISTANT_CONFIG holds the configuration');
    expect(fileOf(line)).toBe(FILE);
  });
});

describe('config edit', () => {
  /** An editor that runs this shell text with the file as `$1`. */
  function withEditor(script: string, options: { readonly terminal?: boolean } = {}): CommandLine {
    const line = new CommandLine(options);
    writeFileSync(join(line.home, 'config.json'), FILE, { mode: 0o600 });
    const editor = writeProgram(join(line.home, 'editor.sh'), `#!/bin/sh\n${script}\n`);
    line.env = { EDITOR: editor, PATH: process.env['PATH'] ?? '' };
    return line;
  }

  test('takes over what can run, with its comments', async () => {
    const line = withEditor(`sed -i.old 's/"model": "demo/"maxIterations": 3, "model": "demo/' "$1"`);
    expect(await said(line, 'config', 'edit')).toBe(`${line.home}/config.json is changed.\n`);
    expect(fileOf(line)).toBe(FILE.replace('"model"', '"maxIterations": 3, "model"'));
    expect(existsSync(join(line.home, 'config.edit.json'))).toBe(false);
  });

  test('that changes nothing says so', async () => {
    expect(await said(withEditor('true'), 'config', 'edit')).toBe('Nothing was changed.\n');
  });

  test('refuses what cannot run, with line and column, and keeps the text aside', async () => {
    const line = withEditor(`printf '{\\n  "agent": { "maxIterations": 0 }\\n}' >"$1"`);
    expect(await line.run('config', 'edit')).toBe(78);
    expect(line.out).toContain(
      'config.edit.json:2:31: agent.maxIterations must be a whole number of at least 1, but 0',
    );
    expect(line.err).toContain('Nothing was changed: the assistant could not run like that. Your text is kept in');
    expect(fileOf(line)).toBe(FILE);
    expect(readFileSync(join(line.home, 'config.edit.json'), 'utf8')).toContain('"maxIterations": 0');
  });

  test('goes back into the editor after a mistake', async () => {
    const twice = 'if grep -q broken "$1"; then printf "{}" >"$1"; else printf "{broken" >"$1"; fi';
    const line = withEditor(twice, { terminal: true });
    line.type('y\n');
    expect(await line.run('config', 'edit')).toBe(0);
    expect(line.out).toMatch(/config\.edit\.json:1:2: [\s\S]*Back into the editor\? \[y\/N\]/u);
    expect(fileOf(line)).toBe('{}');
  });

  test('does not overwrite what was changed meanwhile', async () => {
    const line = withEditor(`printf '{}' >"$1"; printf '{"cron": {}}' >"$(dirname "$1")/config.json"`);
    expect(await line.run('config', 'edit')).toBe(1);
    expect(line.err).toContain('was changed meanwhile, so it was not written');
    expect(fileOf(line)).toBe('{"cron": {}}');
  });

  test('with an editor that fails changes nothing', async () => {
    const line = withEditor('printf "{}" >"$1"; exit 3');
    expect(await line.run('config', 'edit')).toBe(1);
    expect(line.err).toContain('ended with an error, so nothing was changed. Name another in the variable EDITOR');
    expect(fileOf(line)).toBe(FILE);
  });
});

describe('config check', () => {
  test('says that the assistant can run, and what to look at', async () => {
    const line = lineWith(FILE.replace('"agent"', '"agnt": {}, "agent"'));
    line.env = { BOT_TOKEN: '1:a', ASSISTANT_LOG__LEVLE: 'info' };
    const out = await said(line, 'config', 'check');
    expect(out).toContain('⚠ The setting "agnt" is not known and has no effect. Did you mean "agent"?');
    expect(out).toContain('⚠ The variable ASSISTANT_LOG__LEVLE is not known and has no effect.');
    expect(out).toContain(`✓ The assistant can run with ${line.home}/config.json.`);
  });

  test.each([
    [
      '{"agent": {"maxIterations": 0},\n "log": {"level": "x"}}',
      ['config.json:1:29: agent.max', 'config.json:2:19: log.level'],
    ],
    ['{\n  "agent": {\n}', ['config.json:3:2: A closing } is missing.']],
    ['{"agent": {"model": "nobody/x"}}', ['names a provider that is not known: "nobody"']],
  ])('names every mistake with line and column, exit code 78: %j', async (text, sentences) => {
    const line = lineWith(text);
    expect(await line.run('config', 'check')).toBe(78);
    for (const sentence of sentences) expect(line.out).toContain(sentence);
    expect(line.out).not.toContain('✓');
    line.out = '';
    expect(await line.run('config', 'check', '--json')).toBe(78);
    const { runs, problems } = JSON.parse(line.out) as { runs: boolean; problems: { sentence: string }[] };
    expect([runs, problems.length]).toEqual([false, sentences.length]);
  });

  test('is as sure of a home without a file', async () => {
    expect(await said(lineWith(null), 'config', 'check')).toContain('✓ The assistant can run with the defaults.');
  });

  test('says of an empty file that the defaults are used, and how to set the assistant up', async () => {
    expect(await said(lineWith(''), 'config', 'check')).toContain(
      'config.json is empty; the defaults are used. To set the assistant up: npm run assistant -- init\n',
    );
  });
});

const closedFile = (file: string, content: string | Buffer): void => writeFileSync(file, content, { mode: 0o600 });

describe('every command that loads the configuration says the path, the cause and what to do when config.json', () => {
  test.each<[string, (file: string) => void, (file: string) => string]>([
    [
      'is a folder',
      (file) => mkdirSync(file),
      (file) => `${file} is a folder instead of a file. To move it away: mv ${file} ${file}.old`,
    ],
    [
      'is a pipe, for which reading would wait',
      (file) => void execFileSync('mkfifo', [file]),
      (file) => `${file} is a device, a pipe or a socket instead of a file. To move it away: mv ${file} ${file}.old`,
    ],
    [
      'is a link to nothing',
      (file) => symlinkSync('nowhere.json', file),
      (file) =>
        `${file} is a link to nowhere.json, where no file is. Put the file there. To remove the link instead: rm ${file}`,
    ],
    [
      'is a link to itself',
      (file) => symlinkSync('config.json', file),
      (file) => `${file} is a link that leads back to itself. To remove it: rm ${file}`,
    ],
    [
      'is written in another character set',
      (file) => closedFile(file, Buffer.from('{\n  "agent": { "model": "M\xfcller" }\n}', 'latin1')),
      (file) =>
        `${file} is no text in UTF-8 (line 2). Save it as UTF-8 in your editor. To check it then: npm run assistant -- config check`,
    ],
    [
      'is written in UTF-16, as by some editors of Windows',
      (file) => closedFile(file, Buffer.from('\ufeff{}', 'utf16le')),
      (file) =>
        `${file} is a text in UTF-16. Save it as UTF-8 in your editor. To check it then: npm run assistant -- config check`,
    ],
  ])('%s', async (_, harm, sentence) => {
    const line = new CommandLine();
    line.app = () => import('../../src/app.ts');
    const file = join(line.home, 'config.json');
    harm(file);
    const commands = [
      ['config', 'check'],
      ['config', 'get'],
      ['config', 'set', 'agent.model', 'demo/demo'],
      ['config', 'edit'],
      ['status'],
      ['gateway', '--port', '0'],
      ['init', '--provider', 'demo', '--yes'],
    ];
    for (const command of commands) {
      line.out = '';
      line.err = '';
      const code = await line.run(...command);
      const mark = command.includes('check') ? '✗ ' : '';
      expect({ command, code, said: line.out + line.err }).toEqual({
        command,
        code: 78,
        said: `${mark}${sentence(file)}\n`,
      });
    }
  });
});

test('config schema prints the schema that init writes for editors', async () => {
  const schema = JSON.parse(await said(lineWith(), 'config', 'schema')) as { properties: object };
  expect(Object.keys(schema.properties)).toEqual(expect.arrayContaining(['agent', 'providers', 'channels']));
});
