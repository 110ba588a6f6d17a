import { mcpServers } from '../../src/extensions/mcp/settings.ts';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { variableName } from '../../src/core/config/environment-settings.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { innerSchema } from '../../src/core/config/schema.ts';
import { valueAt } from '../../src/core/config/setting.ts';
import { failureOf, load, temporaryFolder } from './temporary-home.ts';

/** Every setting that has a value of its own, with `mine` where a person chooses a name. */
function leaves(
  schema: unknown,
  path: readonly string[] = [],
): readonly { path: readonly string[]; schema: unknown }[] {
  const inner = innerSchema(schema);
  if (inner instanceof z.ZodObject) {
    return Object.entries(inner.shape)
      .filter(([key]) => key !== '$schema')
      .flatMap(([key, item]) => leaves(item, [...path, key]));
  }
  if (inner instanceof z.ZodRecord) {
    // The names of variables are kept as they are written.
    return leaves(inner.valueType, [...path, path.at(-1) === 'env' ? 'MINE' : 'mine']);
  }
  return [{ path, schema }];
}

const WORDS = [
  'x',
  '2',
  'true',
  'false',
  '0.25',
  '5000',
  'x/y',
  'Europe/Vienna',
  '08:00-22:00',
  'https://a.example/b',
  'postgres://a@b/c',
];

/** A text that the setting takes and that is not its default. */
function sample(schema: unknown): { readonly text: string; readonly value: unknown } {
  if (!(schema instanceof z.ZodType)) throw new Error('no schema');
  const initial: unknown = schema.safeParse(undefined).data;
  const inner = innerSchema(schema);
  const options = inner instanceof z.ZodEnum ? inner.options.map(String) : WORDS;
  for (const text of options) {
    const isText = inner instanceof z.ZodString || inner instanceof z.ZodURL || inner instanceof z.ZodEnum;
    const given =
      isText || inner instanceof z.ZodUnion ? text : inner instanceof z.ZodArray ? [text] : JSON.parse(quoted(text));
    const parsed = schema.safeParse(given);
    if (parsed.success && JSON.stringify(parsed.data) !== JSON.stringify(initial)) return { text, value: parsed.data };
  }
  throw new Error('no sample');
}

function quoted(text: string): string {
  return /^(?:[\d.]+|true|false)$/u.test(text) ? text : JSON.stringify(text);
}

/** What an entry needs besides the setting, so that it is whole. */
function companions(path: readonly string[]): object {
  const [section, , key] = path;
  if (section === 'mcpServers' && key !== 'url' && key !== 'command')
    return { mcpServers: { mine: { command: 'run' } } };
  return section === 'hooks' && key !== 'secret' ? { hooks: { mine: { secret: 'a-secret-of-a-webhook' } } } : {};
}

describe('every setting can be set by its variable', () => {
  const all = leaves(PROGRAM.schema);

  test('which are all that there are', () => expect(all.length).toBeGreaterThan(110));

  test.each(all.map((leaf) => [variableName(leaf.path), leaf] as const))('%s', async (variable, { path, schema }) => {
    const { text, value } = sample(schema);
    const found = await load(JSON.stringify(companions(path)), { [variable]: text });
    expect(valueAt(found.config, path)).toEqual(value);
    expect(found.variableOf(path)).toBe(variable);
    expect(found.warnings.join('\n')).not.toContain('is not known');
  });
});

describe('a variable of a setting', () => {
  test('wins over the file, and flags win over it', async () => {
    const text = '{"agent": {"maxIterations": 3, "model": "a/b"}, "gateway": {"port": 1}}';
    const env = { ASSISTANT_AGENT__MAX_ITERATIONS: '9', ASSISTANT_GATEWAY__PORT: '2' };
    const { config } = await load(text, env, { gateway: { port: 3 } });
    expect(config.agent).toMatchObject({ maxIterations: 9, model: 'a/b' });
    expect(config.gateway.port).toBe(3);
  });

  test.each(['ASSISTANT_AGENT__MAX_ITERATIONS', 'ASSISTANT_agent__maxIterations', 'ASSISTANT_AGENT__MAXITERATIONS'])(
    'is found however its words are written: %s',
    async (variable) => expect((await load(undefined, { [variable]: '9' })).config.agent.maxIterations).toBe(9),
  );

  test('holds a list separated by commas or as JSON, and an object as JSON that is merged with the file', async () => {
    const env = {
      ASSISTANT_TOOLS__DENY: 'exec, cron',
      ASSISTANT_AGENT__FALLBACKS: '["a/b", "c/d"]',
      ASSISTANT_MODELS: '{"a/b.c": {"contextWindow": 5000}}',
    };
    const { config } = await load('{"models": {"x/y": {"contextWindow": 1}}}', env);
    expect(config.tools.deny).toEqual(['exec', 'cron']);
    expect(config.agent.fallbacks).toEqual(['a/b', 'c/d']);
    expect(Object.keys(config.models)).toEqual(['x/y', 'a/b.c']);
  });

  test('holds references like the file: another variable, and a file of secrets', async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, 'token'), '1:from-a-file\n');
    const env = {
      KEY: 'sk-from-another',
      ASSISTANT_PROVIDERS__OPENAI__API_KEY: '${KEY}',
      ASSISTANT_CHANNELS__TELEGRAM__TOKEN: '{"file": "token"}',
      ASSISTANT_AGENT__TIMEZONE: 'null',
    };
    const { config, secrets } = await loadConfig({ program: PROGRAM, home, env });
    expect(config.providers['openai']?.apiKey).toBe('sk-from-another');
    expect(config.channels['telegram']?.['token']).toBe('1:from-a-file');
    expect(config.agent.timezone).toBeNull();
    expect(secrets).toEqual(expect.arrayContaining(['1:from-a-file', 'sk-from-another']));
  });

  test('names an entry of the file whatever its name is made of, a known provider, or a new entry in lower case', async () => {
    const env = {
      ASSISTANT_CHANNELS__MY_BOT__TOKEN: '1:a',
      ASSISTANT_PROVIDERS__AZURE_OPENAI__BASE_URL: 'https://a.example',
      ASSISTANT_PROVIDERS__MY_SERVER__KIND: 'openai',
      ASSISTANT_MCP_SERVERS__FILES__COMMAND: 'run',
      ASSISTANT_MCP_SERVERS__FILES__ENV__API_URL: 'x',
      ASSISTANT_PROVIDERS__MY_SERVER__HEADERS__X_TEAM: 'y',
    };
    const { config } = await load('{"channels": {"My-Bot": {"kind": "telegram"}}}', env);
    expect(config.channels).toMatchObject({ 'My-Bot': { kind: 'telegram', token: '1:a' } });
    expect(Object.keys(config.providers)).toEqual(['azure-openai', 'my_server']);
    expect(config.providers['my_server']?.headers).toEqual({ 'x-team': 'y' });
    expect(mcpServers.of(config)['files']).toMatchObject({ command: 'run', env: { API_URL: 'x' } });
  });

  test('that could mean two entries of the file is refused', async () => {
    const text = '{"channels": {"my-bot": {"kind": "telegram"}, "my.bot": {"kind": "telegram"}}}';
    const error = await failureOf(load(text, { ASSISTANT_CHANNELS__MY_BOT__TOKEN: '1:a' }));
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
    expect(error.message).toBe(
      'ASSISTANT_CHANNELS__MY_BOT__TOKEN could mean "my-bot" or "my.bot" in channels. Set the whole of channels as JSON in ASSISTANT_CHANNELS instead.',
    );
  });

  test('sets what a plugin’s channel is called by', async () => {
    const env = { ASSISTANT_CHANNELS__MATRIX__HOME_SERVER: 'https://m.example' };
    const { config, warnings } = await load(undefined, env);
    expect(config.channels['matrix']).toMatchObject({ homeServer: 'https://m.example' });
    expect(warnings).toEqual([]);
  });

  test.each([
    [
      { ASSISTANT_AGENT__MAX_ITERATIONS: 'ten' },
      'ASSISTANT_AGENT__MAX_ITERATIONS (agent.maxIterations) must be a whole number of at least 1, but "ten" was given.',
    ],
    [
      { ASSISTANT_AGENT__FALLBACKS: 'a/b,nothing' },
      'ASSISTANT_AGENT__FALLBACKS (agent.fallbacks.1) must be "auto" or "provider/model"',
    ],
    [{ ASSISTANT_TOOLS: '[1]' }, 'ASSISTANT_TOOLS (tools) must be an object { … }, but a list was given.'],
    [
      { ASSISTANT_MCP_SERVERS__A__ENABLED: 'true' },
      'ASSISTANT_MCP_SERVERS__A__ENABLED (mcpServers.a) must be either "command" or "url"',
    ],
  ])('with a value that does not fit is named: %j', async (env, sentence) => {
    const error = await failureOf(load('{"log": {"level": "info"}}', env));
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
    expect(error.message).toContain(sentence);
    expect(error.message).not.toContain('config.json:');
  });

  test('with a secret that does not fit is named without the secret', async () => {
    const error = await failureOf(load(undefined, { ASSISTANT_PROVIDERS__OPENAI__BASE_URL: 'sk-oops-a-key' }));
    expect(error.message).toContain('ASSISTANT_PROVIDERS__OPENAI__BASE_URL (providers.openai.baseUrl)');
    expect(error.message).not.toContain('oops');
  });

  test.each([
    ['ASSISTANT_AGNT__MODEL', ' Did you mean ASSISTANT_AGENT__MODEL?'],
    ['ASSISTANT_AGENT_MODEL', ' Did you mean ASSISTANT_AGENT__MODEL?'],
    ['ASSISTANT_CHANNELS__TELEGRAM__TOKN', ' Did you mean ASSISTANT_CHANNELS__TELEGRAM__TOKEN?'],
    ['ASSISTANT_PROVIDERS__MINE__BASEURI', ' Did you mean ASSISTANT_PROVIDERS__MINE__BASE_URL?'],
    ['ASSISTANT_XXXXXXXXXXXXXXXXXXXXXXXXXXXXX', ''],
  ])('that is not known is a warning that names the nearest: %s', async (variable, hint) => {
    const { warnings } = await load(undefined, { [variable]: 'x' });
    expect(warnings).toEqual([`The variable ${variable} is not known and has no effect.${hint}`]);
  });

  test('that is set to nothing, and one that is no setting, count as not set', async () => {
    const env = { ASSISTANT_AGENT__MODEL: '', ASSISTANT_HOME: '/x', ASSISTANT_COMMAND: 'y' };
    const { config, warnings } = await load('{"agent": {"model": "a/b"}}', env);
    expect(config.agent.model).toBe('a/b');
    expect(warnings).toEqual([]);
  });

  test('leaves the usual variables of keys to fill what is not set', async () => {
    const env = { OPENAI_API_KEY: 'usual', ANTHROPIC_API_KEY: 'usual', ASSISTANT_PROVIDERS__OPENAI__API_KEY: 'own' };
    const { config, keyVariables } = await load(undefined, env);
    expect(config.providers['openai']?.apiKey).toBe('own');
    expect(keyVariables).toEqual({ openai: 'ASSISTANT_PROVIDERS__OPENAI__API_KEY', anthropic: 'ANTHROPIC_API_KEY' });
  });
});

describe('ASSISTANT_CONFIG', () => {
  const env = { ASSISTANT_CONFIG: '{"agent": {"maxIterations": 5}, /* a comment */ "log": {"level": "warn"}}' };

  test('holds a whole configuration, over which other variables win', async () => {
    const { config, path, exists } = await load(undefined, { ...env, ASSISTANT_LOG__LEVEL: 'error' });
    expect(config).toMatchObject({ agent: { maxIterations: 5 }, log: { level: 'error' } });
    expect({ path, exists }).toEqual({ path: 'ASSISTANT_CONFIG', exists: true });
  });

  test('stands for the file, which is then not read; a warning says so', async () => {
    const { config, warnings } = await load('{"agent": {"debounceMs": 7, "modle": 1}}', env);
    expect(config.agent.debounceMs).toBe(0);
    expect(warnings).toEqual([
      expect.stringMatching(
        /config\.json is not read, because the variable ASSISTANT_CONFIG holds the configuration\.$/u,
      ),
    ]);
  });

  test('does without a file that could be read', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, 'config.json'));
    expect((await loadConfig({ program: PROGRAM, home, env })).config.agent.maxIterations).toBe(5);
  });

  test.each([
    ['{"agent": {"maxIterations": "x"}}', 'ASSISTANT_CONFIG:1:29: agent.maxIterations must be a whole number'],
    ['{"agent": ', 'ASSISTANT_CONFIG:1:11: '],
  ])('with a mistake names its line and column: %s', async (text, sentence) => {
    expect((await failureOf(load(undefined, { ASSISTANT_CONFIG: text }))).message).toContain(sentence);
  });
});
