import { once } from 'node:events';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import type { OutboundEvent } from '../../../src/core/bus/messages.ts';
import type { Row, ServerFrame } from '../../../src/core/gateway/http/wire.ts';
import { waitFor } from '../../support/wait.ts';
import { bearer, httpWorld, type HttpWorld } from './http-world.ts';

async function connected(world: HttpWorld, query = ''): Promise<{ socket: WebSocket; frames: readonly ServerFrame[] }> {
  const socket = new WebSocket(`ws://127.0.0.1:${world.port}/ws${query}`, { headers: bearer() });
  onTestFinished(() => socket.terminate());
  const frames: ServerFrame[] = [];
  socket.on('message', (data: Buffer) => frames.push(JSON.parse(data.toString()) as ServerFrame));
  await waitFor(() => frames.some(({ type }) => type === 'questions'), { what: 'the first frames' });
  return { socket, frames };
}

function row(n: number, text = ''): Row {
  const facts = { session: 's', channel: 'web', chat: 'main', kind: 'answer', turn: null, at: 0, state: 'delivered' };
  return { ...facts, direction: 'out', id: `row-${n}`, text };
}

/** A journal of so many outbound messages, and the listener that tells of more. */
function journalOf(rows: Row[]) {
  const told = new Set<() => void>();
  return {
    told,
    newest: () => ({ inbound: 0, outbound: rows.length }),
    after: (place: { outbound: number }, limit: number) => {
      const found = rows.slice(place.outbound, place.outbound + limit);
      return { rows: found, cursor: { inbound: 0, outbound: place.outbound + found.length } };
    },
    onQueued: (listener: () => void) => {
      told.add(listener);
      return { [Symbol.dispose]: () => void told.delete(listener) };
    },
  };
}

test('who missed more than 500 messages is told of a gap; up to that all of them come', async () => {
  const rows = Array.from({ length: 501 }, (_, n) => row(n));
  const world = await httpWorld({}, { watched: { journal: journalOf(rows) } });
  const { frames } = await connected(world, '?after=0.1');
  expect(frames.flatMap((frame) => (frame.type === 'rows' ? frame.rows : []))).toEqual(rows.slice(1));
  const late = await connected(world, '?after=0.0');
  expect(late.frames.map(({ type }) => type)).toEqual(['hello', 'gap', 'turns', 'questions']);
  expect(late.frames[1]).toEqual({ type: 'gap', cursor: '0.501' });
});

test('a turn that this process continues is told before it says anything here', async () => {
  const world = await httpWorld({}, { watched: { continued: () => [{ session: 'web:main', turn: 'turn-1' }] } });
  const { frames } = await connected(world);
  const facts = { since: world.clock.now(), segments: [], status: '' };
  expect(frames[1]).toMatchObject({ type: 'turns', turns: [{ session: 'web:main', turn: 'turn-1', ...facts }] });
});

test('who reads slowly gets only the newest of a growing text, and all of its end', async () => {
  const heard = new Set<(event: OutboundEvent) => void>();
  const bus = {
    listen: (listener: (event: OutboundEvent) => void) => {
      heard.add(listener);
      return { [Symbol.dispose]: () => void heard.delete(listener) };
    },
  };
  const world = await httpWorld({}, { watched: { bus } });
  const { socket, frames } = await connected(world);
  socket.pause();
  const base = { channel: 'web', chatId: 'main', sessionKey: 's', turnId: 't' };
  const piece = 'x'.repeat(250_000);
  const last = 60;
  for (let sequence = 1; sequence <= last; sequence += 1) {
    const text = `${sequence} ${piece}`;
    for (const hear of heard) hear({ ...base, sequence, type: 'text', text });
    await world.clock.advance(650);
  }
  socket.resume();
  const texts = (): readonly string[] =>
    frames.flatMap((frame) => (frame.type === 'live' && frame.event.type === 'text' ? [frame.event.text] : []));
  await waitFor(
    async () => {
      await world.clock.advance(50);
      return texts().at(-1)?.startsWith(`${last} `) === true;
    },
    { what: 'the newest text' },
  );
  expect(texts().length).toBeLessThan(last / 2);
});

test('who reads nothing at all is cut off, and comes again for what was missed', async () => {
  const rows: Row[] = [];
  const journal = journalOf(rows);
  const world = await httpWorld({}, { watched: { journal } });
  const { socket, frames } = await connected(world);
  socket.pause();
  const closed = once(socket, 'close');
  while (journal.told.size > 0 && rows.length < 5_000) {
    for (let n = 0; n < 50; n += 1) rows.push(row(rows.length, 'y'.repeat(20_000)));
    for (const tell of journal.told) tell();
    await world.clock.advance(2_000);
  }
  socket.resume();
  await closed;
  expect(rows.length).toBeLessThan(5_000);
  expect(frames.length).toBeGreaterThan(2);
});

test('who says anything is cut off, and so is who no longer answers', async () => {
  const world = await httpWorld();
  const { socket } = await connected(world);
  socket.send('hello');
  expect((await once(socket, 'close'))[0]).toBe(1008);
  const large = await connected(world);
  large.socket.send('x'.repeat(2_000));
  expect((await once(large.socket, 'close'))[0]).toBe(1009);
  const silent = await connected(world);
  silent.socket.pause();
  const ended = once(silent.socket, 'close');
  await world.clock.advance(30_000);
  await world.clock.advance(30_000);
  silent.socket.resume();
  await ended;
});

test('more than 64 at once are refused, and when they end there is room again', async () => {
  const world = await httpWorld();
  const open = await Promise.all(Array.from({ length: 64 }, () => connected(world)));
  const refused = new WebSocket(`ws://127.0.0.1:${world.port}/ws`, { headers: bearer() });
  const [, response] = (await once(refused, 'unexpected-response')) as [unknown, { statusCode: number }];
  expect(response.statusCode).toBe(503);
  const [one] = open;
  one?.socket.close();
  if (one !== undefined) await once(one.socket, 'close');
  await waitFor(() => connected(world).then(() => true), { what: 'room' });
});
