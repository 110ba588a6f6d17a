import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { HistoryPage } from '../../src/core/gateway/http/wire.ts';
import { startFakeSpeech } from '../support/fake-speech.ts';
import { startKilledGateway } from '../support/killed-gateway.ts';
import { waitFor } from '../support/wait.ts';

test('a gateway that is killed while a text is spoken sends the voice message after the next start, once', async () => {
  await using speech = await startFakeSpeech();
  await using gateway = await startKilledGateway();
  await gateway.kill();
  const path = join(gateway.home, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8')) as object;
  await writeFile(path, JSON.stringify({ ...config, voice: { speech: { baseUrl: speech.url } } }));
  await gateway.start();
  const headers = { Authorization: `Bearer ${await gateway.token()}`, 'Content-Type': 'application/json' };
  const rows = async (): Promise<HistoryPage['rows']> => {
    const answer = await fetch(`${gateway.address}/api/sessions/web%3Amain/history`, { headers });
    return answer.ok ? ((await answer.json()) as HistoryPage).rows : [];
  };
  const sounds = async (): Promise<readonly string[]> =>
    (await rows()).flatMap(({ media = [] }) => media).map(({ name }) => name);
  let letGo = (): void => {};
  const held = new Promise<void>((resolve) => (letGo = resolve));
  speech.onSpeech = () => held;
  gateway.model.reply({ calls: [{ name: 'message', arguments: { text: '', voice: true } }] }, 'Good evening.');
  const body = JSON.stringify({ id: 'message-0001', chat: 'main', text: 'answer as voice' });
  expect((await fetch(`${gateway.address}/api/messages`, { method: 'POST', headers, body })).status).toBe(202);
  await waitFor(() => speech.asked.length === 1, { what: 'the request to speak' });
  await gateway.kill();
  speech.onSpeech = () => {};
  letGo();
  await gateway.start();
  await waitFor(async () => (await sounds()).length > 0, { what: 'the voice message' });
  expect(speech.asked.map((asked) => asked.body['input'])).toEqual(['Good evening.', 'Good evening.']);
  await gateway.kill();
  await gateway.start();
  gateway.model.reply('Still here.');
  const next = JSON.stringify({ id: 'message-0002', chat: 'main', text: 'and?' });
  await fetch(`${gateway.address}/api/messages`, { method: 'POST', headers, body: next });
  await waitFor(() => gateway.model.pending === 0 && gateway.model.inFlight === 0, { what: 'the next answer' });
  expect(await sounds()).toEqual(['answer.ogg']);
  expect(speech.asked).toHaveLength(2);
});
