import { describe, expect, test } from 'vitest';
import { inboundMessage } from '../../support/inbound.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { waitFor } from '../../support/wait.ts';
import { block, summarising, textOf } from './model.ts';
import { ConsolidationWorld, GROUP, OWNER } from './world.ts';

const KEY = OWNER.sessionKey;

async function talk(world: ConsolidationWorld, turns: number, message = {}): Promise<void> {
  for (let n = 0; n < turns; n += 1) await world.say(`FACT number ${n}.`, `Noted ${n}.`, { message });
}

const visible = async (world: ConsolidationWorld): Promise<string> => {
  const session = await world.sessions.open(KEY);
  return JSON.stringify(session.history().messages.map(({ message }) => message));
};

describe('/new', () => {
  test('begins afresh at once and archives what was before in the background', async () => {
    let answer = (): void => {};
    const thinking = new Promise<void>((resolve) => (answer = resolve));
    await using world = await ConsolidationWorld.open({
      answer: async (request) => {
        await thinking;
        return summarising(request);
      },
    });
    await talk(world, 3);
    await world.consolidation.resetSession(KEY, 'new');
    expect(await visible(world)).toBe('[]');
    expect(world.journal.consolidations.open(KEY)).toMatchObject([{ reason: 'new', role: 'owner', direct: true }]);
    await world.say('FACT later.', 'Yes.');
    answer();
    await world.idle();
    expect(await world.memory()).toBe('- FACT number 0.\n- FACT number 1.\n- FACT number 2.\n');
    expect(await world.history()).toContain('They spoke of 3 things.');
    expect(await world.anchors()).toEqual([]);
    expect(await visible(world)).toContain('FACT later.');
  });

  test('archives nothing when nothing was said since the last time', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await world.consolidation.resetSession(KEY, 'new');
    await talk(world, 3);
    await world.consolidation.resetSession(KEY, 'new');
    await world.idle();
    await world.consolidation.resetSession(KEY, 'new');
    await talk(world, 3);
    await world.mem();
    await world.consolidation.resetSession(KEY, 'new');
    await world.idle();
    expect(world.requests).toHaveLength(2);
    expect(await visible(world)).toBe('[]');
  });

  test('archives only what a /mem before it had not', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await talk(world, 3);
    await world.mem();
    await world.say('FACT since then.', 'Yes.');
    await world.consolidation.resetSession(KEY, 'new');
    await world.idle();
    expect(block(world.question(1), 'conversation')).toContain('FACT since then.');
    expect(block(world.question(1), 'conversation')).not.toContain('FACT number 2.');
  });

  test('a chat that is longer than one question takes is archived in parts', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    for (let n = 0; n < 40; n += 1) await world.say(`FACT number ${n}.\n${'and so on '.repeat(60)}`, 'Noted.');
    await world.consolidation.resetSession(KEY, 'new');
    await world.idle();
    expect(world.requests.length).toBeGreaterThan(1);
    const [memory, history] = [await world.memory(), await world.history()];
    for (let n = 0; n < 40; n += 1) {
      expect(memory).toContain(`- FACT number ${n}.`);
      expect(history.split(`FACT number ${n}.`)).toHaveLength(2);
    }
  });

  test('is tried again after a while, and the third failure writes the words down', async () => {
    const clock = new VirtualClock();
    await using world = await ConsolidationWorld.open({ clock, answer: () => ({ error: 'overloaded' }) });
    await talk(world, 3);
    await world.consolidation.resetSession(KEY, 'new');
    await world.idle();
    expect(world.journal.consolidations.open()).toMatchObject([{ failures: 1 }]);
    await clock.advance(61_000);
    await world.idle();
    expect(world.journal.consolidations.open()).toMatchObject([{ failures: 2 }]);
    await clock.advance(601_000);
    await world.idle();
    expect(world.journal.consolidations.open()).toEqual([]);
    expect(await world.history()).toContain('user: FACT number 0.\nassistant: Noted 0.');
  });

  test('goes on after a restart; one whose reset never came onto the tape is dropped', async () => {
    await using world = await ConsolidationWorld.open({ answer: () => ({ error: 'overloaded' }) });
    await talk(world, 3);
    await world.consolidation.resetSession(KEY, 'new');
    await world.idle();
    const draft = { session: KEY, reason: 'new', role: 'owner', direct: true, upTo: 'never', note: null } as const;
    await world.journal.consolidations.begin({ ...draft, id: 'lost' });
    world.answer = summarising;
    await world.reopen();
    await world.idle();
    expect(await world.history()).toContain('They spoke of 3 things.');
    expect(world.journal.consolidations.get('lost')).toMatchObject({ state: 'dropped' });
    expect(world.journal.consolidations.open()).toEqual([]);
  });

  test('may be asked for by a turn, once, and without archiving', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await talk(world, 3);
    const during = { turnId: 'T', callId: 'T.1', untrusted: true, private: false };
    await world.consolidation.resetSession(KEY, 'tape', { during });
    await world.consolidation.resetSession(KEY, 'tape', { during });
    await world.idle();
    expect(world.requests).toHaveLength(1);
    const session = await world.sessions.open(KEY);
    const resets = session.window.filter(({ kind }) => kind === 'reset');
    expect(resets).toMatchObject([{ turn: 'T', untrusted: true }]);
    await talk(world, 3);
    await world.consolidation.resetSession(KEY, 'tape', { consolidate: false });
    await world.idle();
    expect(world.requests).toHaveLength(1);
    expect(await visible(world)).toBe('[]');
  });
});

describe('/mem', () => {
  test('archives all that is new and leaves the last two exchanges visible', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await talk(world, 5);
    expect(await world.mem()).toBe('I saved a summary of 5 exchanges in HISTORY.md. I updated MEMORY.md.');
    expect(await world.memory()).toContain('- FACT number 4.');
    const history = await visible(world);
    expect(history).toContain('<summary>');
    expect(history).toContain('"FACT number 3."');
    expect(history).not.toContain('"FACT number 2."');
    expect((await world.anchors()).map(({ reason }) => reason)).toEqual(['mem']);
    expect(await world.mem(' ')).toBe('There is nothing new to save to memory since the last time.');
    expect(world.requests).toHaveLength(1);
  });

  test('takes a note into the archived copy alone, as it was written', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await talk(world, 1);
    const note = 'FACT I am called Ming.\n  And I Like TEA.';
    await world.mem(note);
    expect(block(world.question(0), 'conversation')).toContain(`note for the memory]: ${note}`);
    expect(await world.memory()).toContain('- FACT I am called Ming.');
    expect(await visible(world)).not.toContain('Ming');
    // A note by itself is something new.
    expect(await world.mem('FACT I live in Ulm.')).toContain('I saved your note');
    expect(block(world.question(1), 'conversation')).not.toContain('FACT number 0.');
    expect(await world.memory()).toContain('- FACT I live in Ulm.');
    expect(await world.mem()).toContain('nothing new');
  });

  test('in a chat without any words archives the note', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await world.mem('FACT I am called Ming.');
    expect(await world.memory()).toContain('Ming');
  });

  test('that fails says so and leaves no trace', async () => {
    await using world = await ConsolidationWorld.open({
      answer: () => ({ error: 'auth', message: 'The key was refused.' }),
    });
    await talk(world, 5);
    for (let tries = 0; tries < 4; tries += 1) {
      expect(await world.mem()).toBe(
        'I could not save this conversation to memory: The key was refused. /mem tries again.',
      );
    }
    expect(await world.anchors()).toEqual([]);
    expect(await world.history()).toBe('');
    expect(world.journal.consolidations.open()).toEqual([]);
    world.answer = summarising;
    expect(await world.mem()).toContain('I saved a summary of 5 exchanges');
  });

  test('may be stopped, and says so', async () => {
    const stop = new AbortController();
    await using world = await ConsolidationWorld.open({
      answer: async () => {
        stop.abort(new Error('stopped'));
        return { error: 'aborted' };
      },
    });
    await talk(world, 3);
    expect(await world.mem('', OWNER, stop.signal)).toBe('I stopped; this conversation is not in memory yet.');
    expect(world.journal.consolidations.open()).toEqual([]);
    expect(await world.history()).toBe('');
  });

  test('in a group writes the log alone', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await talk(world, 3, GROUP);
    const asked = inboundMessage({ ...GROUP, role: 'owner' });
    expect(await world.mem('', asked)).toContain('MEMORY.md is only written from your direct chats');
    expect(await world.history()).toContain('(telegram:-100, guest)');
    expect(await world.memory()).toBe('');
  });

  test('what it archived before it could set an anchor is in the summary that does, once', async () => {
    await using world = await ConsolidationWorld.open({
      answer: () => ({ saves: { history_entry: `Talk ${world.requests.length}.` } }),
    });
    await talk(world, 1);
    await world.mem();
    await talk(world, 1);
    await world.mem();
    expect(await world.anchors()).toEqual([]);
    for (let n = 0; n < 2; n += 1) {
      await talk(world, 1);
      await world.mem();
    }
    expect((await world.anchors()).map(({ summary }) => summary)).toEqual([
      'Talk 1.\n\nTalk 2.\n\nTalk 3.',
      'Talk 1.\n\nTalk 2.\n\nTalk 3.\n\nTalk 4.',
    ]);
  });

  test('what it archived is not archived again when the chat grows long', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await talk(world, 3);
    await world.mem();
    for (let n = 10; n < 23; n += 1) {
      await world.say(`FACT number ${n}.\n${'and so on '.repeat(60)}`, `Noted ${n}. ${'and so on '.repeat(60)}`);
    }
    await world.afterTurn();
    expect(world.requests).toHaveLength(2);
    expect(textOf(world.question(1))).not.toContain('user: FACT number 2.');
    expect((await world.history()).split('FACT number 2.')).toHaveLength(2);
    expect((await world.anchors()).at(-1)?.summary).toContain('FACT number 2.');
  });

  test('waits for a consolidation of the same chat', async () => {
    let answer = (): void => {};
    const thinking = new Promise<void>((resolve) => (answer = resolve));
    await using world = await ConsolidationWorld.open({
      answer: async (request) => {
        await thinking;
        return summarising(request);
      },
    });
    for (let n = 0; n < 13; n += 1) await world.say(`FACT number ${n}.\n${'and so on '.repeat(120)}`, 'Noted.');
    world.consolidation.afterTurn(await world.request());
    await waitFor(() => world.requests.length === 1);
    const saying = world.mem();
    answer();
    expect(await saying).toContain('I saved a summary');
    for (let n = 0; n < 13; n += 1) expect((await world.history()).split(`FACT number ${n}.`)).toHaveLength(2);
  });
});
