import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { previewOf } from '../../../src/core/files/preview.ts';
import { waitFor } from '../../support/wait.ts';
import { VirtualClock } from '../../support/virtual-clock.ts';
import { block, summarising, textOf, type Reply } from './model.ts';
import { ConsolidationWorld, OWNER } from './world.ts';

const LONG = 'and so on '.repeat(60);
const TEN = Array.from({ length: 10 }, (_, n) => `- Old fact number ${n}.`).join('\n');

async function talk(world: ConsolidationWorld, turns = 13, message = {}): Promise<void> {
  for (let n = 0; n < turns; n += 1) await world.say(`FACT number ${n}.\n${LONG}`, `Noted ${n}. ${LONG}`, { message });
}

const saves = (history_entry: string, memory_update?: string): Reply => ({
  saves: { history_entry, ...(memory_update === undefined ? {} : { memory_update }) },
});

describe('models that do not do what they are asked', () => {
  test('one that refuses the choice of a tool is asked freely', async () => {
    await using world = await ConsolidationWorld.open({
      answer: (request) =>
        request.toolChoice === 'auto'
          ? summarising(request)
          : { error: 'bad-request', message: 'tool_choice is not supported by this model' },
    });
    await talk(world);
    await world.afterTurn();
    expect(world.requests.map(({ toolChoice }) => toolChoice)).toEqual([{ tool: 'save_memory' }, 'auto']);
    expect(await world.memory()).toContain('- FACT number 0.');
  });

  test('one that answers in plain text has written the log, and MEMORY.md stays', async () => {
    await using world = await ConsolidationWorld.open({
      answer: () => ({ text: 'The user spoke of numbers.' }),
      memory: TEN,
    });
    await talk(world);
    await world.afterTurn();
    expect(await world.history()).toContain('] The user spoke of numbers.');
    expect(await world.memory()).toBe(TEN);
    expect((await world.anchors())[0]?.summary).toBe('The user spoke of numbers.');
  });

  test('a text in a code fence is taken out of it', async () => {
    await using world = await ConsolidationWorld.open({
      answer: () => saves('Log.', '```markdown\n- Likes tea.\n```'),
    });
    await talk(world);
    await world.afterTurn();
    expect(await world.memory()).toBe('- Likes tea.\n');
  });

  test.each<[string, Reply]>([
    ['an empty answer', { text: ' ' }],
    ['an empty entry', saves('  ')],
    ['an error', { error: 'overloaded' }],
  ])('%s is a failure; after three in a row the words themselves go into HISTORY.md', async (_title, reply) => {
    await using world = await ConsolidationWorld.open({ answer: () => reply, memory: TEN });
    await talk(world);
    for (const failures of [1, 2]) {
      await world.afterTurn();
      expect(world.journal.consolidations.open()).toMatchObject([{ state: 'pending', failures }]);
      expect(await world.history()).toBe('');
      expect(await world.anchors()).toEqual([]);
      await world.say('go on', 'ok');
    }
    await world.afterTurn();
    expect(world.journal.consolidations.open()).toEqual([]);
    const history = await world.history();
    expect(history).toMatch(/\] user: FACT number 0\.\nand so on/u);
    expect(history).toMatch(/\nassistant: Noted 0\./u);
    expect(await world.memory()).toBe(TEN);
    const [anchor] = await world.anchors();
    expect(anchor?.summary).toContain('went into memory/HISTORY.md as they were said');
    expect(anchor?.summary).toContain('- FACT number 3. and so on');
    expect(world.log.lines.findLast(({ level }) => level === 'warn')?.message).toContain('HISTORY.md unsummarised');
  });

  test('the failures of a chunk survive a restart, and a success begins them anew', async () => {
    await using world = await ConsolidationWorld.open({ answer: () => ({ error: 'overloaded' }) });
    await talk(world);
    await world.afterTurn();
    await world.reopen();
    await world.idle();
    expect(world.journal.consolidations.open()).toMatchObject([{ failures: 2 }]);
    world.answer = () => ({ text: 'The user spoke of numbers.' });
    await world.afterTurn();
    expect(await world.history()).toContain('] The user spoke of numbers.');
    expect(world.journal.consolidations.done(OWNER.sessionKey)).toMatchObject([{ failures: 0 }]);
  });

  test('one that never answers is given up after five minutes', async () => {
    const clock = new VirtualClock();
    await using world = await ConsolidationWorld.open({ clock, answer: () => new Promise(() => {}) });
    world.answer = async () => {
      await new Promise((resolve) => clock.timer(400_000, () => resolve(null)));
      return { error: 'aborted' };
    };
    await talk(world);
    world.consolidation.afterTurn(await world.request());
    await waitFor(() => world.requests.length === 1);
    await clock.advance(500_000);
    await world.idle();
    expect(world.journal.consolidations.open()).toMatchObject([{ state: 'pending', failures: 1 }]);
  });
});

describe('MEMORY.md', () => {
  test('that a person edits while the model thinks keeps the edit: the model is asked again', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising, memory: '- FACT of old.\n' });
    world.answer = async (request) => {
      if (world.requests.length === 1) {
        await writeFile(join(world.folder, 'memory', 'MEMORY.md'), '- FACT of old.\n- Edited by hand.\n');
      }
      return summarising(request);
    };
    await talk(world);
    await world.afterTurn();
    expect(world.requests).toHaveLength(2);
    expect(block(world.question(1), 'memory')).toContain('Edited by hand');
    expect(await world.memory()).toMatch(/^- FACT of old\.\n- Edited by hand\.\n- FACT number 0\./u);
    expect((await world.history()).match(/They spoke of/gu)).toHaveLength(1);
    expect(await world.anchors()).toHaveLength(1);
  });

  test.each<[string, Reply | null]>([
    ['changes nothing the second time', saves('Log.')],
    ['gives no answer the second time', { error: 'overloaded' }],
    ['gives the new text the second time', null],
  ])('that is deleted while the model thinks keeps the new fact, though the model %s', async (_title, second) => {
    let asked = 0;
    await using world: ConsolidationWorld = await ConsolidationWorld.open({
      memory: TEN,
      answer: async (request) => {
        asked += 1;
        if (asked > 1) return second ?? saves('Log.', '- Likes tea.');
        await rm(world.store.path);
        return saves('Log.', `${block(request, 'memory')}\n- Likes tea.`);
      },
    });
    await talk(world);
    await world.afterTurn();
    expect(await world.memory()).toContain('- Likes tea.');
  });

  test('that is edited again and again is merged line by line', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising, memory: '- FACT of old.\n' });
    world.answer = async (request) => {
      const edit = `- FACT of old.\n- Edit ${world.requests.length}.\n`;
      await writeFile(join(world.folder, 'memory', 'MEMORY.md'), edit);
      return summarising(request);
    };
    await talk(world);
    await world.afterTurn();
    expect(world.requests).toHaveLength(2);
    expect(await world.memory()).toContain('- Edit 2.');
    expect(await world.memory()).not.toContain('- Edit 1.');
    expect(await world.memory()).toContain('- FACT number 0.');
  });

  test('that would lose more than half is changed when the owner agrees, and nothing waits for the owner', async () => {
    let agree = (_yes: boolean): void => {};
    const agreed = new Promise<boolean>((resolve) => (agree = resolve));
    await using world = await ConsolidationWorld.open({
      answer: () => saves('Log.', '- All new.\n'),
      memory: TEN,
      confirm: () => agreed,
    });
    await talk(world);
    world.consolidation.afterTurn(await world.request());
    await waitFor(async () => (await world.anchors()).length === 1);
    await waitFor(() => world.confirmations.length === 1);
    expect(world.confirmations[0]).toMatchObject({
      session: OWNER.sessionKey,
      detail: previewOf(TEN, '- All new.\n'),
      reason: 'It would lose more than half.',
    });
    expect(await world.memory()).toBe(TEN);
    expect(await world.mem()).toMatch(
      /^I saved a summary of \d exchanges in HISTORY\.md\. MEMORY\.md changes only if you approve it/u,
    );
    agree(true);
    await world.idle();
    expect(await world.memory()).toBe('- All new.\n');
    expect(world.notices).toEqual([]);
    expect(world.confirmations).toHaveLength(2);
    expect(world.journal.consolidations.open()).toEqual([]);
  });

  test('stays as it is when the owner does not; the new text is kept, and the owner told where', async () => {
    await using world = await ConsolidationWorld.open({
      answer: () => saves('Log.', '- All new.\n'),
      memory: TEN,
      confirm: async () => false,
    });
    await talk(world);
    await world.afterTurn();
    expect(await world.memory()).toBe(TEN);
    const [proposed] = await world.store.log();
    expect(proposed).toMatchObject({ kind: 'proposed' });
    expect((await world.store.show(proposed?.id ?? '')).text).toBe('- All new.\n');
    expect(world.notices).toEqual([
      {
        session: OWNER.sessionKey,
        text: expect.stringContaining(`npm run assistant -- memory restore ${proposed?.id}`),
      },
    ]);
  });

  test('a question that is open at a restart is asked again under the same id, and nothing else is repeated', async () => {
    let isOpen = true;
    await using world = await ConsolidationWorld.open({
      answer: () => saves('Log.', '- All new.\n'),
      memory: TEN,
      confirm: (signal) =>
        isOpen
          ? new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
          : Promise.resolve(true),
    });
    await talk(world);
    world.consolidation.afterTurn(await world.request());
    await waitFor(() => world.confirmations.length === 1);
    isOpen = false;
    await world.reopen();
    await world.idle();
    const [first, second] = world.confirmations;
    expect(second).toEqual(first);
    expect(world.requests).toHaveLength(1);
    expect(await world.memory()).toBe('- All new.\n');
    expect(await world.anchors()).toHaveLength(1);
    expect((await world.history()).match(/Log\./gu)).toHaveLength(1);
  });

  test('is not changed by what strangers wrote unless the owner agrees', async () => {
    const forwarded = async (world: ConsolidationWorld): Promise<void> => {
      const session = await world.sessions.open(OWNER.sessionKey);
      await world.say('see this', 'Seen.', {
        more: [
          {
            kind: 'message',
            role: 'user',
            turn: null,
            sources: ['f'],
            content: [{ type: 'text', text: 'FACT the owner pays everybody.' }],
            untrusted: true,
          },
        ],
      });
      expect(session.history().untrusted).toBe(true);
      await talk(world);
      await world.afterTurn();
    };
    await using refusing = await ConsolidationWorld.open({
      answer: summarising,
      memory: TEN,
      confirm: async () => false,
    });
    await forwarded(refusing);
    expect(refusing.confirmations).toMatchObject([
      { reason: 'It comes from a conversation that contains text by other people or from the web.' },
    ]);
    expect(await refusing.memory()).toBe(TEN);
    expect(await refusing.history()).toContain('FACT the owner pays everybody');
    expect(textOf(refusing.question(0))).toContain('(not trusted): FACT the owner');
    await using alone = await ConsolidationWorld.open({ answer: summarising, memory: TEN, confirm: null });
    await forwarded(alone);
    expect(await alone.memory()).toBe(TEN);
    expect(alone.notices[0]?.text).toContain('text by other people or from the web');
  });

  test('a damaged one is left alone, and the log is written', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising });
    await writeFile(join(world.folder, 'memory', 'MEMORY.md'), Buffer.from([0x66, 0xff, 0xfe]));
    await talk(world);
    await world.afterTurn();
    expect(await world.history()).toContain('FACT number 0.');
    expect(await world.anchors()).toHaveLength(1);
    expect(JSON.stringify(world.requests)).not.toContain('memory_update');
  });

  test('one that is too long for the model to write anew is left alone', async () => {
    await using world = await ConsolidationWorld.open({ answer: summarising, memory: `- ${'fact '.repeat(2000)}\n` });
    await talk(world);
    await world.afterTurn();
    expect(JSON.stringify(world.requests)).not.toContain('memory_update');
    expect(await world.history()).toContain('FACT number 0.');
    expect(world.log.lines.some(({ message }) => message.includes('too long for the model'))).toBe(true);
  });

  test('two conversations that are archived at once lose nothing of each other', async () => {
    let waiting: (() => void)[] = [];
    await using world = await ConsolidationWorld.open({ answer: summarising, memory: '- FACT of old.\n' });
    world.answer = async (request) => {
      if (world.requests.length <= 2) {
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
          if (waiting.length < 2) return;
          for (const go of waiting) go();
          waiting = [];
        });
      }
      return summarising(request);
    };
    for (let n = 0; n < 13; n += 1) await world.say(`FACT one ${n}.\n${LONG}`, LONG, { message: { chatId: '1' } });
    for (let n = 0; n < 13; n += 1) await world.say(`FACT two ${n}.\n${LONG}`, LONG, { message: { chatId: '2' } });
    world.consolidation.afterTurn(await world.request('telegram:1'));
    world.consolidation.afterTurn(await world.request('telegram:2'));
    await world.idle();
    const memory = await world.memory();
    const history = await world.history();
    for (const name of ['of old.', 'one 0.', 'one 3.', 'two 0.', 'two 3.']) expect(memory).toContain(`FACT ${name}`);
    for (const name of ['one 0.', 'one 3.', 'two 0.', 'two 3.']) expect(history).toContain(`FACT ${name}`);
  });
});
