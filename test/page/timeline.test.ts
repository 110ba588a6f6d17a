import { describe, expect, test } from 'vitest';
import type { HistoryItem, Row } from '../../src/core/gateway/http/wire.ts';
import { timelineOf } from '../../src/page/chat/timeline.ts';

const item = (id: string, at: number, facts: Partial<HistoryItem> & Pick<HistoryItem, 'kind'>): HistoryItem => ({
  id,
  entry: id,
  turn: 'turn',
  at,
  text: id,
  ...facts,
});

const row = (id: string, at: number, facts: Partial<Row>): Row => ({
  direction: 'in',
  id,
  session: 'web:main',
  channel: 'web',
  chat: 'main',
  kind: 'user',
  text: id,
  turn: null,
  at,
  state: 'done',
  ...facts,
});

const shape = (known: Partial<Parameters<typeof timelineOf>[0]>): readonly string[] =>
  timelineOf({ items: [], rows: [], unsent: [], ...known }).map(({ kind, key }) => `${kind} ${key}`);

describe('what a conversation shows', () => {
  test('is one line for a tool call and its result', () => {
    const items = [
      item('ask', 1, { kind: 'user' }),
      item('call', 2, { kind: 'call', callId: 'a' }),
      item('result', 3, { kind: 'result', callId: 'a' }),
      item('answer', 4, { kind: 'assistant' }),
    ];
    expect(shape({ items })).toEqual(['user ask', 'tool call', 'answer answer']);
  });

  test('has the result of a call that lies before what is loaded', () => {
    expect(shape({ items: [item('result', 3, { kind: 'result', callId: 'a' })] })).toEqual(['tool result']);
  });

  test('has a message once, when it is sent, when it is accepted and when a turn has taken it', () => {
    const unsent = [{ id: 'mine', chat: 'main', text: 'Hello', at: 5, state: 'sending' as const }];
    expect(shape({ unsent })).toEqual(['user unsent:mine']);
    const rows = [row('accepted', 5, { externalId: 'mine' })];
    expect(shape({ unsent, rows })).toEqual(['user row:accepted']);
    const items = [item('taken', 5, { kind: 'user', sources: ['accepted'] })];
    expect(shape({ unsent, rows, items })).toEqual(['user taken']);
  });

  test('has an answer once, and its files beside it', () => {
    const items = [item('answer', 4, { kind: 'assistant' })];
    const rows = [row('out', 5, { direction: 'out', kind: 'answer', turn: 'turn' })];
    expect(shape({ items, rows })).toEqual(['answer answer']);
    const media = [{ name: 'plan.pdf', mediaType: 'application/pdf', url: '/api/outbound/1/media/0' }];
    expect(shape({ items, rows: rows.map((one) => ({ ...one, media })) })).toEqual(['answer answer', 'notice row:out']);
  });

  test('puts a command and its reply where they were said', () => {
    const items = [item('early', 1, { kind: 'user' }), item('late', 9, { kind: 'user' })];
    const rows = [row('command', 5, {}), row('reply', 6, { direction: 'out', kind: 'notice' })];
    expect(shape({ items, rows })).toEqual(['user early', 'user row:command', 'notice row:reply', 'user late']);
  });

  test('leaves questions to their own place', () => {
    expect(shape({ rows: [row('question', 5, { direction: 'out', kind: 'approval' })] })).toEqual([]);
  });

  test('leaves to a turn that runs what it shows itself: its answer and the call that has no result yet', () => {
    const items = [item('ask', 1, { kind: 'user' }), item('call', 2, { kind: 'call', callId: 'a' })];
    const rows = [row('out', 3, { direction: 'out', kind: 'answer', turn: 'turn' })];
    expect(shape({ items, rows, running: new Set(['turn']) })).toEqual(['user ask']);
    expect(shape({ items, rows })).toEqual(['user ask', 'tool call', 'notice row:out']);
  });
});
