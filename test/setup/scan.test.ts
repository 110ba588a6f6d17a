import { expect, test } from 'vitest';
import type { Environment } from '../../src/core/config/environment.ts';
import { loadConfig } from '../../src/core/config/load.ts';
import { scan, type Offer } from '../../src/setup/scan.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { PROGRAM } from '../support/extensions.ts';
import { tempFolder } from '../support/temp.ts';

const PROVIDERS = {
  anthropic: { kind: 'anthropic', apiKey: '${ANTHROPIC_API_KEY}' },
  own: { kind: 'openai', baseUrl: 'http://127.0.0.1:9/v1' },
};

async function offered(env: Environment): Promise<Readonly<Record<string, Offer['found']>>> {
  await using folder = await tempFolder();
  const text = JSON.stringify({ providers: PROVIDERS });
  const { config } = await loadConfig({ program: PROGRAM, home: folder.path, env, text });
  const offers = await scan({ program: PROGRAM, env, clock: systemClock }, config);
  return Object.fromEntries(offers.map(({ provider, found }) => [provider, found]));
}

test('a provider that needs a key is found only with one; a server with an address needs none', async () => {
  expect(await offered({})).toMatchObject({ anthropic: null, own: 'configured' });
  expect(await offered({ ANTHROPIC_API_KEY: 'sk-ant-x' })).toMatchObject({ anthropic: 'ANTHROPIC_API_KEY is set' });
});
