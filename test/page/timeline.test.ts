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

  const turn = [
    item('ask', 1, { kind: 'user' }),
    item('call', 2, { kind: 'call', callId: 'a' }),
    item('result', 3, { kind: 'result', callId: 'a' }),
    item('words', 4, { kind: 'assistant' }),
    item('other', 4, { kind: 'call', callId: 'b' }),
  ];

  test('leaves to a turn that runs what it shows itself: all but what people said', () => {
    const rows = [row('out', 5, { direction: 'out', kind: 'answer', turn: 'turn' })];
    const items = turn.slice(0, 2);
    expect(shape({ items: turn, rows, running: new Map([['turn', 0]]) })).toEqual(['user ask']);
    expect(shape({ items, rows })).toEqual(['user ask', 'tool call', 'notice row:out']);
    expect(shape({ items, rows, running: new Map([['another', 0]]) })).toEqual(shape({ items, rows }));
  });

  test('has what a turn did in an earlier process, but not the call that may run again', () => {
    const items = [...turn, item('later', 9, { kind: 'result', callId: 'b' })];
    expect(shape({ items, running: new Map([['turn', 7]]) })).toEqual(['user ask', 'tool call', 'answer words']);
  });
});
