import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { homePaths } from '../../../src/core/config/home.ts';
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

test('a conversation that is deleted leaves no word of what was spoken in it', async () => {
  await using speech = await startFakeSpeech();
  await using world = await startWorld({ config: { voice: { speech: { baseUrl: speech.url } } } });
  const page = await pageClient(world);
  using followed = await page.follow();
  world.model.reply({ calls: [{ name: 'message', arguments: { text: '', voice: true } }] }, 'A secret supper.');
  await page.say('main', 'answer as voice');
  await waitFor(() => followed.rows.some(({ media = [] }) => media.length > 0), { what: 'the voice message' });
  using db = new DatabaseSync(homePaths(world.home).state, { readOnly: true });
  const said = (): unknown =>
    db
      .prepare(
        `SELECT (SELECT count(*) FROM outbound WHERE payload LIKE '%secret supper%')
           + (SELECT count(*) FROM parts WHERE text LIKE '%secret supper%') AS n`,
      )
      .get()?.['n'];
  // The answer, what waited to be spoken, and the voice message.
  const sent = "SELECT count(*) AS n FROM outbound WHERE state = 'delivered'";
  await waitFor(() => db.prepare(sent).get()?.['n'] === 3, { what: 'all of it to be sent' });
  expect(said()).toBe(4);
  await world.assistant.call('sessionsDelete', { session: 'web:main' });
  expect(said()).toBe(0);
});
