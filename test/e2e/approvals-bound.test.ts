import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readAnswer } from '../../src/core/agent/questions/answers.ts';
import { openJournal } from '../../src/core/journal/journal.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { createIds } from '../../src/core/util/ids.ts';
import { systemRandom } from '../../src/core/util/random.ts';
import { inboundMessage } from '../support/inbound.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';

const ASKING = { tools: { exec: { mode: 'ask', sandbox: 'off' } } };

const run = (command: string): object => ({ calls: [{ name: 'exec', arguments: { command } }] });

/** Questions as they were sent; answered ones say no longer how to answer them. */
const asked = (world: World): readonly string[] =>
  world.telegram.calls
    .filter(({ method, payload }) => method === 'sendMessage' && String(payload['text']).includes('/approve '))
    .map(({ payload }) => String(payload['text']));

/** The code of the nth question in the owner's chat. */
async function codeOf(world: World, nth = 0): Promise<string> {
  const codes = (): readonly string[] =>
    asked(world).flatMap((text) => /\/approve (\w+)(?! always)/u.exec(text)?.[1] ?? []);
  return await waitFor(() => codes()[nth], { what: `question ${nth}` });
}

async function reply(world: World, part: string): Promise<void> {
  await waitFor(() => chatOf(world).some((text) => text.includes(part)), { what: `a reply with ${part}` });
}

const questions = (world: World): number => asked(world).length;
const made = (world: World, name: string): boolean => existsSync(join(world.workspace, name));
const lastBody = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body);

describe('a yes', () => {
  test.each([
    ['named by the command', 'sh deploy.sh', 'deploy.sh'],
    ['run as a program after a change of folder', 'cd tools && ./deploy.sh', 'tools/deploy.sh'],
    ['named in a nested shell', `bash -c 'echo hi; . ./deploy.sh'`, 'deploy.sh'],
  ])('is for the script as it was: one %s that changed meanwhile does not run', async (_, command, script) => {
    await using world = await startWorld({ config: ASKING });
    await mkdir(join(world.workspace, 'tools'), { recursive: true });
    await writeFile(join(world.workspace, script), 'touch good\n', { mode: 0o755 });
    world.model.reply(run(command), 'I see.', run(command), 'Ran.');
    world.telegram.userSays(OWNER, 'deploy');
    const code = await codeOf(world);
    // The process was stopped between the question and the start, so that the change cannot come too late.
    await world.assistant[Symbol.asyncDispose]();
    await writeFile(join(world.workspace, script), 'touch bad\n');
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await world.restart();
    await reply(world, 'I see.');
    expect(lastBody(world)).toContain('changed since the owner was asked');
    expect([made(world, 'good'), made(world, 'bad'), made(world, 'tools/bad')]).toEqual([false, false, false]);
    // Asked about what it is now, it may.
    world.telegram.userSays(OWNER, 'then so');
    world.telegram.userSays(OWNER, `/approve ${await codeOf(world, 1)}`);
    await reply(world, 'Ran.');
    expect(made(world, 'bad') || made(world, 'tools/bad')).toBe(true);
  });

  test('that was given before the process died is used after it, once', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(run('echo x >> ran'), 'Done.');
    world.telegram.userSays(OWNER, 'go');
    const code = await codeOf(world);
    await world.assistant[Symbol.asyncDispose]();
    {
      // The press was accepted, and nothing more happened.
      using journal = await openJournal({
        path: join(world.home, 'state.db'),
        backupPath: null,
        clock: systemClock,
        newId: createIds(systemClock, systemRandom),
        interpret: readAnswer,
      });
      const action = { id: `approve:${code}`, value: '' };
      await journal.inbox.accept([
        inboundMessage({ chatId: '42', sender: { id: '42', isBot: false }, text: '', action }),
      ]);
    }
    await world.restart();
    await reply(world, 'Done.');
    expect(await readFile(join(world.workspace, 'ran'), 'utf8')).toBe('x\n');
    expect(questions(world)).toBe(1);
    await world.restart();
    expect(await readFile(join(world.workspace, 'ran'), 'utf8')).toBe('x\n');
  });
});

test('a question in a chat can be answered at the terminal, by its code', async () => {
  await using world = await startWorld({ config: ASKING });
  world.model.reply(run('touch a'), 'Done.');
  world.telegram.userSays(OWNER, 'go');
  const { text } = await world.assistant.run(`/approve ${await codeOf(world)}`);
  expect(text).toBe('Allowed, once.');
  await reply(world, 'Done.');
  expect(made(world, 'a')).toBe(true);
});

describe('always', () => {
  test('allows the same command from then on, also after a restart, until it is forgotten; nothing else', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(run('ls -a one'), 'First.', run('/usr/bin/ls  -a "one"'), 'Second.');
    await mkdir(join(world.workspace, 'one'));
    world.telegram.userSays(OWNER, 'what is there');
    world.telegram.userSays(OWNER, `/approve ${await codeOf(world)} always`);
    await reply(world, 'First.');
    await reply(world, 'Allowed now and from now on, exactly as shown.');
    await world.restart();
    world.telegram.userSays(OWNER, 'again');
    await reply(world, 'Second.');
    expect(questions(world)).toBe(1);
    const { remembered } = await world.assistant.call('approvalsList', {});
    expect(remembered).toMatchObject([{ program: ['/usr/bin/ls', '-a', 'one'], createdBy: 'telegram:42' }]);

    // Another argument, another folder, a list of commands: asked.
    const others: readonly [string, Readonly<Record<string, unknown>>][] = [
      ['argument', { command: 'ls -a two' }],
      ['folder', { command: 'ls -a one', cwd: 'one' }],
      ['list', { command: 'ls -a one; id' }],
    ];
    for (const [nth, [name, args]] of others.entries()) {
      world.model.reply({ calls: [{ name: 'exec', arguments: args }] }, `No ${name}.`);
      world.telegram.userSays(OWNER, `try another ${name}`);
      const code = await codeOf(world, nth + 1);
      expect((await world.assistant.call('approvalsList', {})).waiting).toMatchObject([{ code }]);
      world.telegram.userSays(OWNER, `/deny ${code}`);
      await reply(world, `No ${name}.`);
    }

    await world.assistant.call('approvalsForget', { id: remembered[0]?.id ?? '' });
    world.model.reply(run('ls -a one'), 'Third.');
    world.telegram.userSays(OWNER, 'once more');
    world.telegram.userSays(OWNER, `/deny ${await codeOf(world, 4)}`);
    await reply(world, 'Third.');
    await expect(world.assistant.call('approvalsForget', { id: 'nothing' })).rejects.toThrow('There is no permission');
  });

  test('is refused for what could run anything; the question stays open', async () => {
    await using world = await startWorld({ config: ASKING });
    world.model.reply(run('sh -c "touch a"'), 'Done.');
    world.telegram.userSays(OWNER, 'go');
    const code = await codeOf(world);
    world.telegram.userSays(OWNER, `/approve ${code} always`);
    await reply(world, 'Only a plain command that does no more than read or print can be allowed for good');
    expect(made(world, 'a')).toBe(false);
    world.telegram.userSays(OWNER, `/approve ${code}`);
    await reply(world, 'Done.');
    expect((await world.assistant.call('approvalsList', {})).remembered).toEqual([]);
  });

  test('comes from the configuration too, for exact commands alone', async () => {
    const allowCommands = ['/usr/bin/mkdir listed', '/bin/sh -c id'];
    await using world = await startWorld({
      config: { tools: { exec: { mode: 'ask', sandbox: 'off', allowCommands } } },
    });
    world.model.reply(run('mkdir listed'), 'Done.', run('/bin/sh -c id'), 'Asked.');
    expect((await world.assistant.call('info', {})).warnings.join()).toMatch(
      /allowCommands: "\/bin\/sh -c id" is not/u,
    );
    world.telegram.userSays(OWNER, 'go');
    await reply(world, 'Done.');
    expect(questions(world)).toBe(0);
    world.telegram.userSays(OWNER, 'and the shell');
    world.telegram.userSays(OWNER, `/deny ${await codeOf(world)}`);
    await reply(world, 'Asked.');
  });
});
