import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tapeName } from '../../src/core/session/tape-name.ts';
import { gone, startDyingHome } from '../support/dying-home.ts';
import { waitFor } from '../support/wait.ts';

const slow = { timeoutMs: 90_000 };

describe.concurrent('a process that is killed', () => {
  test(
    'with the power, which takes one of two messages out of the session file: the turn goes on with both',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      home.say('the first of two');
      home.say('the second of two');
      const dying = home.start('model');
      await waitFor(() => gone(dying), slow);
      await home.losePower('the second of two');
      home.reply('both heard');
      home.start('never');
      await waitFor(() => home.chat().includes('both heard'), slow);
      expect(home.bodies()).toContain('the first of two');
      expect(home.bodies()).toContain('the second of two');
    },
  );

  test(
    'three times by the same message gives it up with a notice; /retry runs it again and the chat goes on',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      home.say('a poisonous message');
      for (let life = 1; life <= 3; life += 1) {
        const child = home.start('model');
        await waitFor(() => gone(child), { ...slow, what: `death ${life}` });
        expect(home.chat()).toEqual([]);
      }
      home.start('never');
      await waitFor(() => home.chat().length === 1, slow);
      expect(home.chat()[0]).toMatch(/stopped 3 times while working on “a poisonous message” and gave up/u);
      home.reply('Hello.');
      home.say('hello');
      await waitFor(() => home.chat().length === 2, slow);
      expect(home.chat()[1]).toBe('Hello.');
    },
  );

  test.each(['retract', 'retracted'] as const)(
    'while it leaves out what the provider refuses (%s) answers the next message without it',
    { timeout: 180_000 },
    async (stage) => {
      await using home = await startDyingHome();
      const refused = { error: { status: 400, code: 'content_filter', message: 'It triggered the content filter.' } };
      home.reply('Hello.');
      home.say('hello');
      const dying = home.start(stage);
      await waitFor(() => home.chat().length === 1, slow);
      home.reply(refused);
      home.say('a refused question');
      await waitFor(() => gone(dying), slow);
      // The request that was interrupted, if its outcome was not written, and the trials: without the answer before it, then
      // also without what was accepted before.
      if (stage === 'retract') home.reply(refused);
      home.reply(refused);
      home.reply(refused);
      home.start('never');
      await waitFor(() => home.chat().length === 2, slow);
      expect(home.chat()[1]).toMatch(/refused.*left out/su);
      home.reply('Here.');
      home.say('still there?');
      await waitFor(() => home.chat().length === 3, slow);
      expect(home.chat()[2]).toBe('Here.');
      expect(home.model.requests.at(-1)?.text).toContain('hello');
      expect(home.model.requests.at(-1)?.text).not.toContain('a refused question');
    },
  );

  test(
    'in the middle of a command that cannot be repeated does not run it again, says so, and takes the next message',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      home.reply('Hello.');
      home.say('hello');
      const child = home.start('anchor');
      await waitFor(() => home.chat().length === 1, slow);
      home.say('/tape handoff We said hello.');
      await waitFor(() => gone(child), slow);
      home.start('never');
      await waitFor(() => home.chat().length === 2, slow);
      expect(home.chat()[1]).toBe(
        'I was restarted while running /tape handoff We said hello.; I cannot tell whether it took effect.',
      );
      home.reply('Hello again.');
      home.say('hello?');
      await waitFor(() => home.chat().length === 3, slow);
      expect(home.chat()[2]).toBe('Hello again.');
    },
  );

  test.each(['retract', 'retracted'] as const)(
    'in the middle of /undo (%s) finishes it once, and says all that it did',
    { timeout: 180_000 },
    async (stage) => {
      await using home = await startDyingHome();
      const file = join(home.folder, 'workspace', 'list.md');
      home.reply({ calls: [{ name: 'write_file', arguments: { path: 'list.md', content: 'new' } }] });
      home.reply('Written.');
      home.say('write the list');
      const child = home.start(stage);
      await waitFor(() => home.chat().length === 1, slow);
      expect(await readFile(file, 'utf8')).toBe('new');
      home.say('/undo yes');
      await waitFor(() => gone(child), slow);
      home.start('never');
      await waitFor(() => home.chat().length === 2, slow);
      expect(home.chat()[1]).toMatch(/^Undone: “write the list”.*list\.md: removed, because it was new$/su);
      await expect(readFile(file)).rejects.toThrow('ENOENT');
      const tape = await readFile(join(home.folder, 'sessions', tapeName('telegram:42')), 'utf8');
      expect(tape.match(/"kind":"retract"/gu)).toHaveLength(1);
    },
  );

  test('in the middle of /new finishes it once', { timeout: 180_000 }, async () => {
    await using home = await startDyingHome();
    home.say('/new');
    const child = home.start('reset');
    await waitFor(() => gone(child), slow);
    home.start('never');
    await waitFor(() => home.chat().length === 1, slow);
    expect(home.chat()).toEqual(['I started a new conversation. What shall we do?']);
    const tape = await readFile(join(home.folder, 'sessions', tapeName('telegram:42')), 'utf8');
    expect(tape.match(/"kind":"reset"/gu)).toHaveLength(1);
  });

  test(
    'after /retry took the failed turn back, and before it began anew, runs the message once all the same',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      home.reply({ error: { status: 401, message: 'no' } });
      home.say('the question');
      const child = home.start('retracted');
      await waitFor(() => home.chat().length === 1, slow);
      home.reply('The answer.');
      home.say('/retry');
      await waitFor(() => gone(child), slow);
      home.start('never');
      await waitFor(() => home.chat().length === 2, slow);
      expect(home.chat()[1]).toBe('The answer.');
      expect(home.bodies().match(/the question/gu)).toHaveLength(2);
    },
  );

  test('in the middle of a sentence finishes it in the message that people saw', { timeout: 180_000 }, async () => {
    await using home = await startDyingHome();
    const answer = `It begins. ${'A sentence of the answer. '.repeat(12)}It ends.`.trim();
    home.reply({ text: answer, chunkSize: 10, eventDelayMs: 90 });
    home.say('tell me');
    const child = home.start('never');
    await waitFor(() => home.chat().length === 1, { ...slow, what: 'the beginning' });
    const [beginning] = home.chat();
    // Once it grows, its id is written down.
    await waitFor(() => home.chat()[0] !== beginning, { ...slow, what: 'more of it' });
    child.kill('SIGKILL');
    await waitFor(() => gone(child), slow);
    expect(home.chat()[0]).not.toBe(answer);
    home.reply(answer);
    home.start('never');
    await waitFor(() => home.chat().includes(answer), { ...slow, what: 'the whole answer' });
    expect(home.chat()).toEqual([answer]);
  });

  test(
    'while messages that began a turn together wait for the model answers all of them in one turn',
    { timeout: 180_000 },
    async () => {
      await using home = await startDyingHome();
      for (const text of ['first', 'second', 'third']) home.say(`the ${text} wish`);
      const child = home.start('model');
      await waitFor(() => gone(child), slow);
      home.reply('All granted.');
      home.start('never');
      await waitFor(() => home.chat().length === 1, slow);
      expect(home.chat()).toEqual(['All granted.']);
      expect(home.bodies()).toMatch(/first wish.*second wish.*third wish/u);
    },
  );
});
