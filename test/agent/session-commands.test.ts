import { describe, expect, test } from 'vitest';
import { tapeCommand } from '../../src/core/agent/commands/tape.ts';
import { createTape, resetDraft } from '../../src/core/agent/commands/session-commands.ts';
import type { App } from '../../src/core/app.ts';
import type { EntryDraft } from '../../src/core/session/entry.ts';
import type { TapeCall, TapeActions } from '../../src/core/tools/tape.ts';
import {
  anchor,
  assistant,
  plainTurn,
  reset,
  result,
  retract,
  trim,
  turnEnd,
  turnStart,
  user,
} from '../session/tapes.ts';
import { appWith } from '../support/app-with.ts';
import { commandContext } from '../support/command-context.ts';
import { historyText, SESSION, sessionsWorld, type SessionsWorld } from './sessions-world.ts';

const DAY_MS = 86_400_000;
const during: TapeCall = { turnId: 't3', callId: 't3.1', untrusted: false, private: false };
const THREE = [...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2'), turnStart('t3'), user('t3', 'three')];

function actionsOf({ sessions, files }: SessionsWorld, consolidated: boolean[] = []): TapeActions {
  const resetSession: App['resetSession'] = async (key, reason, options) => {
    const { consolidate: archive = false, during: turn = null } = options ?? {};
    consolidated.push(archive);
    const session = await sessions.open(key);
    await session.append([resetDraft(reason, turn)]);
  };
  const app = appWith({
    sessions,
    resetSession,
    prompts: {
      report: async () => ({ tokens: { used: 12_000, window: 200_000, share: 0.06 } }),
    } as unknown as App['prompts'],
    clock: files.clock,
    config: { agent: { timezone: 'UTC' } } as App['config'],
    redact: (text) => text,
  });
  return createTape(app);
}

describe('info', () => {
  test('counts what is on record and says how full the conversation is', async () => {
    await using world = await sessionsWorld();
    const actions = actionsOf(world);
    expect((await actions.info(SESSION)).text).toBe('No messages are recorded here yet.');
    await world.append(...plainTurn('t1', 'one', '1'), ...plainTurn('t2', 'two', '2'), anchor('so far', 'end-t1'));
    await world.files.clock.advance(3 * DAY_MS);
    const { text } = await actions.info(SESSION);
    expect(text).toMatch(/- 10 entries, 4 messages in 2 turns, 1\.\d kB/u);
    expect(text).toContain('- Since 2026-01-01 00:00 (3 days ago)');
    expect(text).toContain('- 1 anchor, 0 resets');
    expect(text).toContain('now: 3 messages; about 12,000 of 200,000 tokens (6%)');
  });
});

describe('search', () => {
  const find = async (world: SessionsWorld, query: string, role: 'owner' | 'trusted' = 'owner'): Promise<string> =>
    (await actionsOf(world).search({ sessionKey: SESSION, query, role })).text;

  test('finds what people and the model said, whatever its case, newest first, behind resets too', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'Where is my TEA?', 'In the cupboard.'), reset());
    await world.files.clock.advance(DAY_MS);
    await world.append(...plainTurn('t2', 'hello', `${'x '.repeat(300)}your  tea\nis cold${' y'.repeat(300)}`));
    const lines = (await find(world, 'tea')).split('\n');
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^- 2026-01-02 00:00, assistant: …x .*your tea is cold y.*…$/u);
    expect(lines[0]?.length).toBeLessThan(220);
    expect(lines[1]).toBe('- 2026-01-01 00:00, user: Where is my TEA?');
    expect(await find(world, 'your tea is')).toContain('assistant');
  });

  test('finds nothing in results, context blocks and skills, nor what was taken back or is still going on', async () => {
    await using world = await sessionsWorld();
    const context = { type: 'text', text: '<context>\nfrom: needle\n</context>' } as const;
    const message: EntryDraft = {
      kind: 'message',
      role: 'user',
      turn: 't1',
      sources: [],
      skills: ['sewing'],
      content: [context, { type: 'text', text: 'hello' }, { type: 'text', text: 'a needle and thread' }],
    };
    await world.append(turnStart('t1'), message, assistant('t1', 'let me see', ['t1.1']));
    await world.append(result('t1', 't1.1', 'needle'), turnEnd('t1'));
    await world.append(...plainTurn('t2', 'needle', 'needle'), retract('t2'), turnStart('t3'), user('t3', 'needle?'));
    expect(await find(world, 'needle')).toBe('No message here contains “needle”.');
    expect(await find(world, 'HELLO')).toContain('user: hello');
  });

  test('shows ten, and says that there are more', async () => {
    await using world = await sessionsWorld();
    for (let n = 0; n < 11; n += 1) await world.append(...plainTurn(`t${n}`, `tea ${n}`, 'ok'));
    const lines = (await find(world, 'tea')).split('\n');
    expect(lines).toHaveLength(11);
    expect(lines[0]).toContain('tea 10');
    expect(lines.at(-1)).toBe('- There is more, further back.');
  });

  test('keeps what is private for the owner and passes the taint of what it shows on', async () => {
    await using world = await sessionsWorld();
    await world.append(turnStart('t1'), user('t1', 'my tea', { private: true }), turnEnd('t1'));
    await world.append(turnStart('t2'), user('t2', 'their tea', { untrusted: true }), turnEnd('t2'));
    expect(await find(world, 'tea', 'trusted')).not.toContain('my tea');
    const actions = actionsOf(world);
    const owner = await actions.search({ sessionKey: SESSION, query: 'tea', role: 'owner' });
    expect(owner).toMatchObject({ untrusted: true, private: true });
    const other = await actions.search({ sessionKey: SESSION, query: 'tea', role: 'trusted' });
    expect(other).toMatchObject({ untrusted: true, private: false });
  });

  test('for nothing is refused, and stops when its turn is stopped', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    const actions = actionsOf(world);
    expect(await actions.search({ sessionKey: SESSION, query: '  ', role: 'owner' })).toMatchObject({ refused: true });
    const signal = AbortSignal.abort(new Error('stopped'));
    await expect(actions.search({ sessionKey: SESSION, query: 'one', role: 'owner', signal })).rejects.toThrow(
      'stopped',
    );
  });
});

describe('anchors', () => {
  test('are listed with date, reason and first words; private ones without words for others', async () => {
    await using world = await sessionsWorld();
    const actions = actionsOf(world);
    expect((await actions.anchors({ sessionKey: SESSION, role: 'owner' })).text).toContain('no anchors');
    await world.append(...plainTurn('t1', 'one', '1'), anchor('we spoke of one', 'end-t1'));
    await world.append(...plainTurn('t2', 'two', '2'), anchor('and of two', 'end-t2', { private: true }));
    expect(await actions.anchors({ sessionKey: SESSION, role: 'owner' })).toMatchObject({
      text: '- 2026-01-01 00:00, size: and of two\n- 2026-01-01 00:00, size: we spoke of one',
      private: true,
    });
    expect(await actions.anchors({ sessionKey: SESSION, role: 'trusted' })).toMatchObject({
      text: expect.stringContaining('size: (private)'),
      private: false,
    });
  });
});

describe('handoff', () => {
  const hand = (world: SessionsWorld, summary: string, turn: TapeCall | null): ReturnType<TapeActions['handoff']> =>
    actionsOf(world).handoff({ sessionKey: SESSION, summary, during: turn });

  test('lets a summary stand for all ended turns; the running one stays whole', async () => {
    await using world = await sessionsWorld();
    await world.append(...THREE, assistant('t3', '', ['t3.1']));
    expect(await hand(world, ' we counted ', during)).toMatchObject({ refused: false });
    await world.append(result('t3', 't3.1', 'done'));
    const history = world.session.history();
    expect(history.summary).toMatchObject({ text: 'we counted', upTo: 'end-t2' });
    expect(history.messages.map(({ message }) => message.role)).toEqual(['user', 'user', 'assistant', 'tool']);
    expect(historyText(world.session)).not.toMatch(/"one"|"two"/u);
  });

  test('between turns reaches to the newest, and again only when something was said since', async () => {
    await using world = await sessionsWorld();
    expect(await hand(world, 'nothing', null)).toMatchObject({ refused: true });
    await world.append(...plainTurn('t1', 'one', '1'));
    expect(await hand(world, 'first', null)).toMatchObject({ refused: false });
    expect(await hand(world, 'second', null)).toMatchObject({ refused: true });
    await world.append(...plainTurn('t2', 'two', '2'));
    expect(await hand(world, 'third', null)).toMatchObject({ refused: false });
    expect(world.session.history()).toMatchObject({ summary: { text: 'third', upTo: 'end-t2' } });
  });

  test.each([
    ['a reset', reset()],
    ['an anchor', anchor('older', 'end-t2')],
    ['a dropped part', trim({ dropUpTo: 'end-t2' })],
  ])('never reaches less far than %s', async (_name, boundary) => {
    await using world = await sessionsWorld();
    await world.append(...THREE, boundary);
    expect(await hand(world, 'late', during)).toMatchObject({ refused: true });
    expect(world.session.history().summary?.text).not.toBe('late');
  });

  test('keeps the taint of what it stands for and of the turn that wrote it', async () => {
    await using world = await sessionsWorld();
    await world.append(turnStart('t1'), user('t1', 'hi', { untrusted: true }), turnEnd('t1'));
    await hand(world, 'harmless', { ...during, private: true });
    await world.append(...plainTurn('t2', 'two', '2'));
    expect(world.session.history()).toMatchObject({ untrusted: true, private: true });
  });

  test('repeated by the same call writes one anchor', async () => {
    await using world = await sessionsWorld();
    await world.append(...THREE);
    for (let n = 0; n < 2; n += 1) expect(await hand(world, 'so far', during)).toMatchObject({ refused: false });
    expect(world.session.window.filter(({ kind }) => kind === 'anchor')).toHaveLength(1);
  });

  test.each([
    ['', /handoff needs text, the summary/u],
    ['x'.repeat(8_001), /8,001 characters; at most 8,000/u],
  ])('refuses a summary of no or too many characters', async (summary, sentence) => {
    await using world = await sessionsWorld();
    await world.append(...THREE);
    expect(await hand(world, summary, during)).toMatchObject({ refused: true, text: expect.stringMatching(sentence) });
  });
});

describe('reset', () => {
  test('asked for by a turn leaves it whole, hands the old part to the archive, and keeps the taint', async () => {
    await using world = await sessionsWorld();
    await world.append(...THREE, assistant('t3', '', ['t3.1']));
    const consolidated: boolean[] = [];
    const actions = actionsOf(world, consolidated);
    const answer = await actions.reset({ sessionKey: SESSION, archive: true, during: { ...during, untrusted: true } });
    expect(answer.text).toContain(
      'the messages from before this turn are no longer part of it. A summary of them is being written',
    );
    await world.append(result('t3', 't3.1', 'done'), turnEnd('t3'), ...plainTurn('t4', 'four', '4'));
    expect(historyText(world.session)).toMatch(/three.*done.*four/u);
    expect(historyText(world.session)).not.toMatch(/"one"|"two"/u);
    expect(world.session.history().untrusted).toBe(true);
    expect(consolidated).toEqual([true]);
  });

  test('asked for between turns leaves nothing', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    await actionsOf(world).reset({ sessionKey: SESSION, archive: false, during: null });
    expect(world.session.history().messages).toEqual([]);
  });
});

describe('/tape', () => {
  async function say(world: SessionsWorld, args: string, consolidated: boolean[] = []): Promise<string> {
    const reply = await tapeCommand(actionsOf(world, consolidated)).run(commandContext({ sessionKey: SESSION, args }));
    return typeof reply === 'string' ? reply : '';
  }

  test('does what its first word says, and keeps case and lines of the rest', async () => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    expect(await say(world, '')).toContain('1 turn');
    expect(await say(world, 'Search ONE')).toContain('user: one');
    expect(await say(world, 'handoff We Spoke\nof one')).toContain('this summary replaces the earlier messages');
    expect(world.session.history().summary?.text).toBe('We Spoke\nof one');
    expect(await say(world, 'anchors')).toContain('handoff: We Spoke of one');
    const consolidated: boolean[] = [];
    await say(world, 'reset', consolidated);
    await say(world, 'reset archive', consolidated);
    expect(consolidated).toEqual([false, true]);
  });

  test.each(['rewind', 'reset everything', 'information'])('explains itself for %j and does nothing', async (args) => {
    await using world = await sessionsWorld();
    await world.append(...plainTurn('t1', 'one', '1'));
    expect(await say(world, args)).toContain('/tape search WORDS');
    expect(world.session.history().messages).toHaveLength(2);
  });

  test('is not for guests', () => {
    expect(tapeCommand({} as TapeActions).role).toBe('trusted');
  });
});
