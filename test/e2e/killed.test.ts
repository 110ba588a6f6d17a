import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { tapeName } from '../../src/session/tape-name.ts';
import { bundledChild } from '../support/bundled.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { Step } from '../support/model-script.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const PERSON = 42;

/** An assistant in processes of its own, one after another, and its chat. */
async function startHome(): Promise<
  AsyncDisposable & {
    readonly chat: () => readonly string[];
    readonly say: (text: string) => void;
    readonly bodies: () => string;
    readonly reply: (step: Step) => void;
    readonly start: (stage: 'model' | 'reset' | 'never') => ChildProcess;
    readonly accepted: () => boolean;
    /** The machine lost its power, and with it the line of the session's tape that has these words. */
    readonly losePower: (words: string) => Promise<void>;
  }
> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const telegram = stack.use(await startFakeTelegram());
  const model = stack.use(await startFakeOpenAi());
  const program = await bundledChild('dying-child');
  const env = childEnvironment({ NODE_COMPILE_CACHE: program.compiled });
  const children: ChildProcess[] = [];
  stack.defer(async () => {
    for (const child of children) child.kill('SIGKILL');
    await waitFor(() => children.every(gone));
  });
  await mkdir(join(folder.path, 'workspace'), { recursive: true });
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: [String(PERSON)] } },
    log: { level: 'error', format: 'json' },
  };
  await writeFile(join(folder.path, 'config.json'), JSON.stringify(config));
  const owned = stack.move();
  return {
    chat: () => telegram.sentMessages.map(({ visibleText }) => visibleText),
    say: (text) => void telegram.userSays(PERSON, text),
    bodies: () => JSON.stringify(model.requests.map(({ body }) => body)),
    reply: (step) => model.reply(step),
    start: (stage) => {
      const child = spawn(process.execPath, [program.file, folder.path, stage], { stdio: 'ignore', env });
      children.push(child);
      return child;
    },
    accepted: () => telegram.unconfirmed.length === 0,
    losePower: async (words) => {
      const path = join(folder.path, 'sessions', tapeName(`telegram:${PERSON}`));
      const lines = (await readFile(path, 'utf8')).split('\n');
      expect(lines.filter((line) => line.includes(words))).toHaveLength(1);
      await writeFile(path, lines.map((line) => (line.includes(words) ? '\0'.repeat(line.length) : line)).join('\n'));
      using db = new DatabaseSync(join(folder.path, 'state.db'));
      db.exec("UPDATE opened SET boot = 'an earlier run'");
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const gone = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;
const slow = { timeoutMs: 30_000 };

describe.concurrent('a process that is killed', () => {
  test(
    'with the power, which takes one of two messages out of the session file: the turn goes on with both',
    { timeout: 60_000 },
    async () => {
      await using home = await startHome();
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
    { timeout: 60_000 },
    async () => {
      await using home = await startHome();
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

  test(
    'in the middle of a command does not run it again, says so, and takes the next message',
    { timeout: 60_000 },
    async () => {
      await using home = await startHome();
      home.say('/new');
      const child = home.start('reset');
      await waitFor(() => gone(child), slow);
      home.start('never');
      await waitFor(() => home.chat().length === 1, slow);
      expect(home.chat()).toEqual(['I was restarted while running /new; I can not tell whether it took effect.']);
      home.reply('Hello.');
      home.say('hello');
      await waitFor(() => home.chat().length === 2, slow);
      expect(home.chat()[1]).toBe('Hello.');
    },
  );

  test('in the middle of a sentence finishes it in the message that people saw', { timeout: 60_000 }, async () => {
    await using home = await startHome();
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
    { timeout: 60_000 },
    async () => {
      await using home = await startHome();
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
