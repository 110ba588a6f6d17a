import { expect, test } from 'vitest';
import { OGG, startFakeSpeech } from '../../support/fake-speech.ts';
import { waitFor } from '../../support/wait.ts';
import { startWorld } from '../../support/world.ts';
import { pageClient } from './page-client.ts';

test('the page gets a spoken answer as a sound that it can play, also in parts, and never the text that waits to be spoken', async () => {
  await using speech = await startFakeSpeech();
  await using world = await startWorld({ config: { voice: { speech: { baseUrl: speech.url } } } });
  const page = await pageClient(world);
  using followed = await page.follow();
  world.model.reply({ calls: [{ name: 'message', arguments: { text: '', voice: true } }] }, 'Good evening.');
  await page.say('main', 'answer as voice');
  await followed.answer('main', 'Good evening.');
  const sounds = () => followed.rows.filter(({ media = [] }) => media.length > 0);
  await waitFor(() => sounds().length > 0, { what: 'the voice message' });
  const [row] = sounds();
  expect(row).toMatchObject({ session: 'web:main', text: '', media: [{ name: 'answer.ogg', mediaType: 'audio/ogg' }] });
  expect(followed.rows.map(({ channel }) => channel)).toEqual(['web', 'web', 'web']);
  const url = row?.media?.[0]?.url ?? '';
  const whole = await page.get(url);
  expect([whole.status, whole.headers.get('content-type')]).toEqual([200, 'audio/ogg']);
  expect(Buffer.from(await whole.arrayBuffer())).toEqual(OGG);
  const part = await fetch(page.address + url, { headers: { ...page.headers, Range: 'bytes=1-3' } });
  expect([part.status, part.headers.get('content-range')]).toEqual([206, `bytes 1-3/${OGG.length}`]);
  expect(await part.text()).toBe('ggS');
  const { rows } = await page.history('web:main');
  expect(rows.flatMap(({ media = [] }) => media).map(({ name }) => name)).toEqual(['answer.ogg']);
});
