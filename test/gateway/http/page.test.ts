import { expect, test } from 'vitest';
import { buildPage } from '../../../page.config.ts';
import { loadPage } from '../../../src/app/gateway/page.ts';
import { httpWorld } from './http-world.ts';

test('a clone serves the page that its source makes, without a build', async () => {
  const world = await httpWorld({}, { page: loadPage });
  const { files } = await buildPage();
  for (const { path, body, mediaType } of files) {
    const answer = await world.ask(path === 'index.html' ? '/' : `/${path}`);
    expect([answer.status, answer.headers['content-type'], answer.text]).toEqual([
      200,
      mediaType,
      Buffer.from(body).toString(),
    ]);
  }
});

test('only what is named by its content may be used without asking again, and the page comes packed', async () => {
  const world = await httpWorld({}, { page: loadPage });
  const { text, headers } = await world.ask('/');
  expect(headers['cache-control']).toBe('no-cache');
  const [script = ''] = /\/assets\/main-[^"]+/u.exec(text) ?? [];
  const whole = await world.ask(script);
  expect(whole.headers['cache-control']).toBe('public, max-age=31536000, immutable');
  const response = await fetch(`${world.server.address}${script}`, { headers: { 'accept-encoding': 'gzip' } });
  expect(response.headers.get('content-encoding')).toBe('gzip');
  expect(response.headers.get('vary')).toBe('Accept-Encoding');
  expect(await response.text()).toBe(whole.text);
});
