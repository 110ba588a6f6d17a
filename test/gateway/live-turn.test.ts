import { expect, test } from 'vitest';
import { followed, type LiveTurn } from '../../src/core/bus/live-turn.ts';
import type { OutboundEvent } from '../../src/core/bus/messages.ts';

const of = { channel: 'web', chatId: 'main', sessionKey: 'web:main', turnId: 'turn', sequence: 1 } as const;
const call = { callId: 'a', name: 'edit_file', title: 'edit notes.md' } as const;

const EVENTS: readonly OutboundEvent[] = [
  { ...of, type: 'typing' },
  { ...of, type: 'reasoning', text: 'Hm' },
  { ...of, type: 'text', text: 'I lo' },
  { ...of, type: 'reasoning', text: 'Hm. So' },
  { ...of, type: 'text', text: 'I look.' },
  { ...of, type: 'status', text: 'The model is slow.' },
  { ...of, type: 'tool-start', ...call },
  { ...of, type: 'tool-start', ...call, callId: 'b' },
  { ...of, type: 'tool-end', ...call, title: 'edited notes.md', isError: false, diff: '+ tea' },
  { ...of, type: 'tool-end', ...call, callId: 'b', isError: true, refused: 'Not on a Sunday.' },
  { ...of, type: 'text', text: 'Done.' },
];

/** The turn after each event, one every 10 ms. */
function after(events: readonly OutboundEvent[], before?: LiveTurn, from = 0): LiveTurn | undefined {
  return events.reduce<LiveTurn | undefined>((turn, event, at) => followed(turn, event, from + at * 10), before);
}

test('a turn shows its texts and its tool calls in the order in which they began', () => {
  expect(after(EVENTS)).toEqual({
    session: 'web:main',
    turn: 'turn',
    startedAt: 0,
    since: 0,
    status: '',
    segments: [
      { kind: 'reasoning', text: 'Hm. So' },
      { kind: 'text', text: 'I look.' },
      {
        kind: 'tool',
        tool: { ...call, title: 'edited notes.md', state: 'done', startedAt: 60, durationMs: 20, diff: '+ tea' },
      },
      {
        kind: 'tool',
        tool: { ...call, callId: 'b', state: 'failed', startedAt: 70, durationMs: 20, problem: 'Not on a Sunday.' },
      },
      { kind: 'text', text: 'Done.' },
    ],
  });
});

test('a status is shown until the turn goes on', () => {
  expect(after(EVENTS.slice(0, 6))?.status).toBe('The model is slow.');
  expect(after(EVENTS.slice(0, 7))?.status).toBe('');
});

test('a snapshot at any point and the events after it are the whole turn', () => {
  for (let at = 0; at <= EVENTS.length; at += 1) {
    const snapshot = after(EVENTS.slice(0, at));
    expect(after(EVENTS.slice(at), snapshot, at * 10), `after ${at}`).toEqual(after(EVENTS));
  }
});
