import { describe, expect, test } from 'vitest';
import { Debounce, nextBatch, type BurstSettings } from '../../src/core/agent/message-batching.ts';
import type { InboundMessage } from '../../src/core/bus/messages.ts';
import { inboundMessage } from '../support/inbound.ts';
import { settle, VirtualClock } from '../support/virtual-clock.ts';

const settings: BurstSettings = { whenBusy: () => 'steer', debounceMs: 0, groupDebounceMs: () => 0 };
const NOW = 1_700_000_000_000;

function said(text: string, overrides: Partial<InboundMessage> = {}): InboundMessage {
  return inboundMessage({ text, receivedAt: NOW, ...overrides });
}

function piece(burst: string, overrides: Partial<InboundMessage> = {}): InboundMessage {
  return said(`a ${burst}`, { metadata: { burst }, ...overrides });
}

function batch(
  waiting: readonly InboundMessage[],
  over: { now?: number; heldMs?: number; settings?: Partial<BurstSettings> } = {},
): { texts: readonly string[]; waitMs: number } {
  const { now = NOW, heldMs = 0 } = over;
  const { messages, waitMs } = nextBatch(waiting, { now, heldMs, settings: { ...settings, ...over.settings } });
  return { texts: messages.map(({ text }) => text), waitMs };
}

describe('what begins a turn', () => {
  test('an ordinary message begins it at once', () => {
    expect(batch([said('hello')])).toEqual({ texts: ['hello'], waitMs: 0 });
  });

  test.each(['split', 'album', 'forward'])('a piece of a burst (%s) waits a moment for the next one', (burst) => {
    const { waitMs } = batch([piece(burst)]);
    expect(waitMs).toBeGreaterThan(0);
    expect(waitMs).toBeLessThanOrEqual(1_000);
    expect(batch([piece(burst), said('the rest')])).toEqual({ texts: [`a ${burst}`, 'the rest'], waitMs: 0 });
  });

  test('a group waits as its channel says, and debounceMs makes everybody wait', () => {
    const groups = { groupDebounceMs: (channel: string) => (channel === 'telegram' ? 700 : 0) };
    expect(batch([said('hi', { chatType: 'group' })], { settings: groups }).waitMs).toBe(700);
    expect(batch([said('hi', { chatType: 'group', channel: 'other' })], { settings: groups }).waitMs).toBe(0);
    expect(batch([said('hi')], { settings: { debounceMs: 400 } }).waitMs).toBe(400);
  });

  test('nothing is held longer than three seconds in all, whatever is configured and whatever the clock does', () => {
    const long = { debounceMs: 60_000 };
    expect(batch([said('hi')], { settings: long }).waitMs).toBe(3_000);
    expect(batch([said('hi')], { settings: long, heldMs: 2_900 }).waitMs).toBe(100);
    expect(batch([said('hi')], { settings: long, heldMs: 3_000 }).waitMs).toBe(0);
    expect(batch([said('hi')], { settings: long, now: NOW - 3_600_000, heldMs: 3_000 }).waitMs).toBe(0);
  });

  test('a message that waited already for its burst, during another turn or while nobody ran, waits no more', () => {
    expect(batch([piece('album')], { now: NOW + 60_000 }).waitMs).toBe(0);
  });

  test('messages that piled up begin one turn, ten at most, and the eleventh the next', () => {
    const many = Array.from({ length: 11 }, (_, n) => said(`message ${n}`));
    expect(batch(many)).toEqual({ texts: many.slice(0, 10).map(({ text }) => text), waitMs: 0 });
  });

  test('queue gives each message its own turn but keeps a burst together', () => {
    const queue = { whenBusy: () => 'queue' as const };
    expect(batch([said('one'), said('two')], { settings: queue }).texts).toEqual(['one']);
    expect(batch([piece('split'), said('rest'), said('two')], { settings: queue }).texts).toEqual(['a split', 'rest']);
    const late = said('two', { receivedAt: NOW + 5_000 });
    expect(batch([piece('split'), late], { settings: queue }).texts).toEqual(['a split']);
  });

  test.each([
    ['a command', { text: '/new' }],
    ['another chat', { chatId: '2' }],
    ['another thread', { threadId: '9' }],
    ['another role', { role: 'guest' }],
    ['another origin', { origin: 'cron' }],
    ['another model', { metadata: { model: 'openai/other' } }],
  ] as const)('%s is not drawn in, and ends the waiting for more', (_, overrides) => {
    expect(batch([piece('album'), said('next', overrides)])).toEqual({ texts: ['a album'], waitMs: 0 });
  });

  test('a forwarded “/new” is somebody else’s words, not a command', () => {
    const forwarded = said('/new', { untrusted: true });
    expect(batch([piece('forward'), forwarded]).texts).toEqual(['a forward', '/new']);
  });
});

describe('a held session', () => {
  test('goes on after its time, or as soon as something new came, or when everything ends', async () => {
    const clock = new VirtualClock();
    const holds = new Debounce(clock);
    const over: string[] = [];
    for (const session of ['time', 'news', 'end']) void holds.wait(session, 500).then(() => over.push(session));
    holds.wake('news');
    await settle();
    expect(over).toEqual(['news']);
    await clock.advance(499);
    expect(over).toEqual(['news']);
    holds.end();
    await settle();
    expect(over).toEqual(['news', 'time', 'end']);
    await holds.wait('later', 500);
    expect(clock.waiting).toBe(0);
  });
});
