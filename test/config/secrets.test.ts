import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { failureOf, load, temporaryFolder } from './temporary-home.ts';

const SECRET = 'hunter2-hunter2-hunter2';

describe('variables in texts', () => {
  test('are replaced, also in the middle and more than once', async () => {
    const text = '{"providers": {"x": {"apiKey": ["${A}", "${B}"], "headers": {"Authorization": "Bearer ${A}-${B}"}}}}';
    const { config } = await load(text, { A: 'one', B: 'two' });
    expect(config.providers['x']).toMatchObject({
      apiKey: ['one', 'two'],
      headers: { Authorization: 'Bearer one-two' },
    });
  });

  test('that are escaped stay', async () => {
    const { config } = await load('{"providers": {"x": {"headers": {"Note": "cost $${A} ${B}"}}}}', { A: '1', B: '2' });
    expect(config.providers['x']?.headers).toEqual({ Note: 'cost ${A} 2' });
  });

  test('that are not set leave the setting out, silently where nothing needs it', async () => {
    const { config, warnings } = await load('{"providers": {"anthropic": {"apiKey": "${ANTHROPIC_API_KEY}"}}}');
    expect(config.providers['anthropic']?.apiKey).toBeNull();
    expect(warnings).toEqual([]);
  });

  test.each([
    ['{"agent": {"model": "openai/gpt"}, "providers": {"openai": {"apiKey": "${NOPE}"}}}', 'providers.openai.apiKey'],
    ['{"agent": {"fallbacks": ["x/y"]}, "providers": {"x": {"headers": {"K": "${NOPE}"}}}}', 'providers.x.headers.K'],
    ['{"channels": {"telegram": {"enabled": true, "token": "${NOPE}"}}}', 'channels.telegram.token'],
  ])('that are not set are a warning where they are needed: %s', async (text, key) => {
    const { warnings } = await load(text);
    expect(warnings).toEqual([`${key} names the variable NOPE, which is not set; the setting is left out.`]);
  });

  test('that are not set do not break lists', async () => {
    const { config } = await load('{"channels": {"telegram": {"token": "1:a", "allowFrom": ["${ME}", "7"]}}}');
    expect(config.channels['telegram']?.allowFrom).toEqual(['7']);
  });
});

describe('secrets in files', () => {
  test('are read without the white space around them', async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, 'key'), `${SECRET}\n`);
    writeFileSync(join(home, 'config.json'), '{"providers": {"openai": {"apiKey": {"file": "key"}}}}');
    const { config, secrets } = await loadConfig({ program: PROGRAM, home, env: {} });
    expect(config.providers['openai']?.apiKey).toBe(SECRET);
    expect(secrets).toContain(SECRET);
  });

  test('that are missing are an error that names key and file', async () => {
    const error = await failureOf(load('{"channels": {"telegram": {"token": {"file": "/nowhere/token"}}}}'));
    expect(error).toMatchObject({ exitCode: 78, facts: { key: 'channels.telegram.token', file: '/nowhere/token' } });
    expect(error.message).toBe(
      'channels.telegram.token is to be read from /nowhere/token, but there is no such file. Create the file or correct the path.',
    );
  });

  test('that are empty are an error', async () => {
    const home = temporaryFolder();
    writeFileSync(join(home, 'key'), '\n');
    writeFileSync(join(home, 'config.json'), '{"gateway": {"token": {"file": "key"}}}');
    expect((await failureOf(loadConfig({ program: PROGRAM, home, env: {} }))).message).toContain(
      'but that file is empty',
    );
  });

  test('are not looked for under the names of headers', async () => {
    const { config } = await load('{"providers": {"x": {"headers": {"file": "/etc/passwd"}}}}');
    expect(config.providers['x']?.headers).toEqual({ file: '/etc/passwd' });
  });
});

describe('what is redacted', () => {
  test('is every key, token, header and variable of the configuration, and what the environment calls one', async () => {
    const text = `{
      "providers": {"x": {"apiKey": ["k-1", "k-2"], "headers": {"X-Auth": "h-1"}, "baseUrl": "http://127.0.0.1"}},
      "channels": {"slack": {"botToken": "b-1", "appToken": "a-1"}, "matrix": {"accessToken": "m-1"}},
      "mcpServers": {"m": {"command": "c", "env": {"V": "e-1"}}},
      "gateway": {"token": "g-1"},
      "tools": {"web": {"searchApiKey": "t-1"}}, "agent": {"maxOutputTokens": 5}
    }`;
    const { secrets } = await load(text, { OPENAI_API_KEY: 'o-1', MY_PASSWORD: 'p-1', LANG: 'C' });
    expect([...secrets].sort()).toEqual(
      ['a-1', 'b-1', 'e-1', 'g-1', 'h-1', 'k-1', 'k-2', 'm-1', 'o-1', 'p-1', 't-1'].sort(),
    );
  });
});

test('ordinary words among variables and headers are no secrets, unless their names say so', async () => {
  const text = `{
    "providers": {"x": {"headers": {"Accept": "application/json", "X-Auth": "onlyletters"}, "baseUrl": "http://127.0.0.1"}},
    "mcpServers": {"m": {"command": "c", "env": {
      "NODE_ENV": "production", "DATA": "/srv/data-1", "API": "https://api.example.org/v1", "PORT": "18790",
      "DB_PASS": "correcthorse", "URL": "https://me:pw-1@example.org", "ID": "a1b2c3d4"
    }}}
  }`;
  const { secrets } = await load(text, {});
  expect([...secrets].sort()).toEqual(['a1b2c3d4', 'correcthorse', 'https://me:pw-1@example.org', 'onlyletters']);
});

describe('errors never show a secret', () => {
  test.each([
    [`{"providers": {"openai": "${SECRET}"}}`],
    [`{"providers": {"openai": {"baseUrl": "${SECRET}"}}}`],
    [`{"providers": {"openai": {"apiKey": {"value": "${SECRET}"}}}}`],
    [`{"channels": {"telegram": "${SECRET}"}}`],
    [`{"channels": {"telegram": {"enabled": "${SECRET}"}}}`],
    [`{"gateway": {"token": ["${SECRET}"]}}`],
    [`{"mcpServers": {"x": {"env": "${SECRET}"}}}`],
    ['{"agent": {"maxIterations": "${LEAK}"}}'],
    [`{"gateway": {"token": "${SECRET}" "port": 1}}`],
  ])('%s', async (text) => {
    const error = await failureOf(load(text, { LEAK: SECRET }));
    expect(error.exitCode).toBe(78);
    expect(`${error.message} ${JSON.stringify(error.facts)}`).not.toContain('hunter2');
  });

  test('and numbers at the place of one are hidden too', async () => {
    const error = await failureOf(load('{"channels": {"telegram": {"token": 123456789}}}'));
    expect(error.message).toContain('channels.telegram.token must be a text, but a number was given');
  });
});
