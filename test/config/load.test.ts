import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { enabledChannels } from '../../src/core/config/channels.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { failureOf, load, temporaryFolder } from './temporary-home.ts';

describe('defaults', () => {
  test('no file at all is a complete configuration', async () => {
    const { config, exists, warnings } = await load(undefined);
    expect(exists).toBe(false);
    expect(warnings).toEqual([]);
    expect(config.agent.model).toBe('auto');
    expect(config.agent.budget.selfDayTokens).toBe(2_000_000);
    expect(config.gateway).toEqual({ host: '127.0.0.1', port: 18790, token: null, publicUrl: null, ui: true });
    expect(config.tools.guest).toEqual(['web_search', 'web_fetch']);
    expect(config.channels).toEqual({});
  });

  test('keys that are not given keep their defaults beside those that are', async () => {
    const { config } = await load('{"agent": {"budget": {"dayUsd": 2.5}}}');
    expect(config.agent.budget).toMatchObject({ dayUsd: 2.5, jobTokens: 300_000 });
    expect(config.agent.maxIterations).toBe(40);
  });

  test('an empty file gives the defaults and a warning', async () => {
    const { config, warnings } = await load(' \n');
    expect(config.agent.model).toBe('auto');
    expect(warnings[0]).toMatch(/config\.json is empty/u);
  });
});

describe('the file', () => {
  test('may hold comments, trailing commas and a byte order mark', async () => {
    const { config } = await load('\uFEFF{ // a comment\n "gateway": { "port": 0, }, /* and */ }');
    expect(config.gateway.port).toBe(0);
  });

  test.each([
    ['{\n  "agent": {\n    "model": "auto"\n    "reasoning": "off"\n  }\n}', 4, 5, 'a comma is missing'],
    ['{\n  "agent": { "model": auto }\n}', 2, 23, 'this word is not JSON'],
    ['{"agent": {"model": "auto"', 1, 27, 'closing }'],
    ['{"agent" 5}', 1, 10, 'a colon is missing'],
    ['{}\n}', 2, 1, 'nothing may follow'],
    ['{"a": "x\n"}', 1, 7, 'not closed by a double quote'],
    ['{"agent": }', 1, 11, 'a value is missing'],
  ])('with a syntax error names line and column: %j', async (text, line, column, why) => {
    const error = await failureOf(load(text));
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78, facts: { line, column } });
    expect(error.message).toContain(`config.json:${line}:${column}: `);
    expect(error.message).toContain(why);
    expect(error.message).toContain('Correct the file');
  });

  test('that holds a list is refused', async () => {
    expect((await failureOf(load('[]'))).message).toMatch(/must hold an object .*, but holds a list/u);
  });

  test('that cannot be read is a configuration error', async () => {
    const home = temporaryFolder();
    mkdirSync(join(home, 'config.json'));
    const error = await failureOf(loadConfig({ program: PROGRAM, home, env: {} }));
    expect(error).toMatchObject({ code: 'config-unreadable', exitCode: 78 });
    expect(error.message).toContain(join(home, 'config.json'));
  });

  test('is overruled by flags', async () => {
    const { config } = await load('{"gateway": {"port": 4000, "ui": false}}', {}, { gateway: { port: 5000 } });
    expect(config.gateway).toMatchObject({ port: 5000, ui: false });
  });
});

describe('unknown keys', () => {
  test.each([
    ['{"agnt": {}}', 'The setting "agnt" is not known and has no effect. Did you mean "agent"?'],
    ['{"agent": {"modle": "auto"}}', 'Did you mean "agent.model"?'],
    ['{"tools": {"exec": {"timeoutSecond": 5}}}', 'Did you mean "tools.exec.timeoutSeconds"?'],
    ['{"providers": {"mine": {"baseURL": "http://x"}}}', 'Did you mean "providers.mine.baseUrl"?'],
    ['{"channels": {"telegram": {"tokn": "x"}}}', 'Did you mean "channels.telegram.token"?'],
    ['{"channels": {"work": {"kind": "slack", "apiRoot": "http://x"}}}', '"channels.work.apiRoot" is not known'],
    ['{"zzzzzzzzzz": 1}', 'The setting "zzzzzzzzzz" is not known and has no effect.'],
  ])('are warnings that name the nearest key: %s', async (text, expected) => {
    const { warnings } = await load(text);
    expect(warnings.join('\n')).toContain(expected);
  });

  test('of a plugin’s channel belong to the plugin', async () => {
    const { config, warnings } = await load('{"channels": {"matrix": {"homeserver": "https://m.example"}}}');
    expect(warnings).toEqual([]);
    expect(config.channels['matrix']).toMatchObject({ homeserver: 'https://m.example', enabled: true, stream: true });
  });

  test('in maps of the owner’s own names are fine', async () => {
    const { warnings } = await load('{"providers": {"x": {"extraBody": {"anything": 1}, "headers": {"X-A": "b"}}}}');
    expect(warnings).toEqual([]);
  });
});

describe('the environment', () => {
  test('enables providers by their keys', async () => {
    const env = { ANTHROPIC_API_KEY: 'key-a', OPENAI_API_KEY: 'key-o', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' };
    const { config } = await load(undefined, env);
    expect(config.providers['anthropic']).toMatchObject({ apiKey: 'key-a', baseUrl: null });
    expect(config.providers['openai']).toMatchObject({ apiKey: 'key-o', baseUrl: 'http://127.0.0.1:1/v1' });
  });

  test('enables channels by their tokens, with a list of people', async () => {
    const { config, ...checked } = await load(undefined, {
      TELEGRAM_BOT_TOKEN: '1:a',
      TELEGRAM_ALLOW_FROM: '12, 34,',
      SLACK_BOT_TOKEN: 'xoxb-1',
      SLACK_APP_TOKEN: 'xapp-1',
      DISCORD_BOT_TOKEN: 'd',
    });
    expect(Object.keys(enabledChannels({ config, ...checked })).toSorted()).toEqual(['discord', 'slack', 'telegram']);
    expect(config.channels['telegram']).toMatchObject({ token: '1:a', allowFrom: ['12', '34'], enabled: true });
    expect(config.channels['slack']).toMatchObject({ botToken: 'xoxb-1', appToken: 'xapp-1' });
  });

  test('does not enable a channel by its list of people alone', async () => {
    const { config } = await load(undefined, { TELEGRAM_ALLOW_FROM: '12' });
    expect(config.channels).toEqual({});
  });

  test('fills what the file leaves out, and no more', async () => {
    const text =
      '{"channels": {"telegram": {"enabled": false, "allowFrom": []}}, "providers": {"openai": {"apiKey": "mine"}}}';
    const env = { TELEGRAM_BOT_TOKEN: '1:a', TELEGRAM_ALLOW_FROM: '12', OPENAI_API_KEY: 'theirs' };
    const { config, ...checked } = await load(text, env);
    expect(config.channels['telegram']).toMatchObject({ enabled: false, token: '1:a', allowFrom: [] });
    expect(config.providers['openai']).toMatchObject({ apiKey: 'mine' });
    expect(enabledChannels({ config, ...checked })).toEqual({});
  });
});

describe('channels', () => {
  test('take ids as numbers as long as they are exact', async () => {
    const { config } = await load('{"channels": {"telegram": {"token": "1:a", "allowFrom": [123456789]}}}');
    expect(config.channels['telegram']?.allowFrom).toEqual(['123456789']);
    const error = await failureOf(load('{"channels": {"discord": {"allowFrom": [123456789012345678901]}}}'));
    expect(error.message).toContain('put long numbers in quotes');
  });

  test('without their token stay off, with a warning', async () => {
    const loaded = await load('{"channels": {"telegram": {"allowFrom": ["1"]}}}');
    expect(enabledChannels(loaded)).toEqual({});
    expect(loaded.warnings).toEqual(['channels.telegram stays off: channels.telegram.token is not set.']);
  });
});

describe('values that do not fit', () => {
  test.each([
    [
      '{"agent": {"maxIterations": "ten"}}',
      'agent.maxIterations must be a whole number of at least 1, but "ten" was given',
    ],
    ['{"agent": {"maxIterations": 0}}', 'agent.maxIterations must be a whole number of at least 1, but 0 was given'],
    ['{"agent": {"maxIterations": 1.5}}', 'must be a whole number of at least 1, but 1.5 was given'],
    [
      '{"agent": {"model": "gpt"}}',
      'agent.model must be "auto" or "provider/model", e.g. "anthropic/claude-sonnet-5-5", but "gpt" was given',
    ],
    [
      '{"agent": {"whenBusy": "wait"}}',
      'agent.whenBusy must be one of "steer", "queue", "interrupt", but "wait" was given',
    ],
    [
      '{"agent": {"timezone": "Mars/Base"}}',
      'agent.timezone must be a time zone such as "Europe/Vienna", but "Mars/Base"',
    ],
    ['{"agent": {"fallbacks": "x/y"}}', 'agent.fallbacks must be a list [ … ]'],
    ['{"agent": 5}', 'agent must be an object { … }, but 5 was given'],
    ['{"gateway": {"port": 70000}}', 'gateway.port must be a whole number from 0 to 65535, but 70000 was given'],
    ['{"gateway": {"ui": "yes"}}', 'gateway.ui must be true or false, but "yes" was given'],
    ['{"gateway": {"host": null}}', 'gateway.host must be a text, but null was given'],
    ['{"memory": {"consolidateAt": 0}}', 'memory.consolidateAt must be a number above 0'],
    ['{"heartbeat": {"activeHours": "8-22"}}', 'heartbeat.activeHours must be hours such as "08:00-22:00"'],
    ['{"mcpServers": {"a": {}}}', 'mcpServers.a must be either "command" or "url"'],
    ['{"providers": {"a": {"baseUrl": "ftp://x"}}}', 'providers.a.baseUrl must be an http:// or https:// address'],
    ['{"providers": {"a": {"apiKey": []}}}', 'providers.a.apiKey must be a list that is not empty, but an empty list'],
    [
      '{"channels": {"telegram": {"groups": {"policy": "loud"}}}}',
      'must be one of "mention", "open", "off", but "loud" was given',
    ],
    ['{"channels": {"a b": {}}}', 'channels.a b must be a name of letters'],
    ['{"log": {"level": "chatty"}}', 'log.level must be one of "debug"'],
  ])('say where, what was expected and what was given: %s', async (text, expected) => {
    const error = await failureOf(load(text));
    expect(error).toMatchObject({ code: 'config-invalid', exitCode: 78 });
    expect(error.message).toContain(expected);
    expect(error.message).toMatch(/config\.json:\d+:\d+: /u);
    expect(error.message).toContain('Correct it and start again.');
  });

  test('name the line in the file, and what else is wrong', async () => {
    const error = await failureOf(load('{\n  "agent": {\n    "maxIterations": -1\n  },\n  "log": {"level": 1}\n}'));
    expect(error.message).toContain('config.json:3:22: agent.maxIterations');
    expect(error.message).toContain('Wrong too: log.level.');
  });

  test('that come from a flag have no place in the file', async () => {
    const error = await failureOf(load('{}', {}, { gateway: { port: 'abc' } }));
    expect(error.message).toBe(
      'gateway.port must be a whole number from 0 to 65535, but "abc" was given. Correct it and start again.',
    );
  });
});

test('the path of the configuration is told whether or not it exists', async () => {
  const home = temporaryFolder();
  expect(await loadConfig({ program: PROGRAM, home, env: {} })).toMatchObject({
    path: join(home, 'config.json'),
    exists: false,
  });
  writeFileSync(join(home, 'config.json'), '{}');
  expect(await loadConfig({ program: PROGRAM, home, env: {} })).toMatchObject({
    path: join(home, 'config.json'),
    exists: true,
  });
});

describe('the place that a key was read from', () => {
  const placesOf = async (providers: object, env: Readonly<Record<string, string>>): Promise<unknown> =>
    (await load(JSON.stringify({ providers }), env)).keyVariables;
  const env = { OPENAI_API_KEY: 'from-the-environment', MY_KEY: 'mine' };

  test('is a variable where it fills the entry of its name, or where the file names it', async () => {
    expect(await placesOf({}, env)).toEqual({ openai: 'OPENAI_API_KEY' });
    expect(await placesOf({ test: { kind: 'openai', apiKey: '${MY_KEY}' } }, env)).toEqual({
      openai: 'OPENAI_API_KEY',
      test: 'MY_KEY',
    });
  });

  test('is the configuration for an entry with a key of its own, whatever its kind', async () => {
    expect(await placesOf({ test: { kind: 'openai', apiKey: 'written' } }, { OPENAI_API_KEY: 'x' })).not.toHaveProperty(
      'test',
    );
    expect(await placesOf({ openai: { apiKey: 'written' } }, env)).toEqual({});
    expect(await placesOf({ openai: { apiKey: ['a', 'b'] } }, env)).toEqual({});
  });
});
