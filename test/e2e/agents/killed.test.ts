import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { builtProgram } from '../../support/built-program.ts';
import { startFakeOpenAi } from '../../support/fake-openai.ts';
import { startFakeTelegram, type FakeTelegram } from '../../support/fake-telegram.ts';
import { tempFolder } from '../../support/temp.ts';
import { waitFor } from '../../support/wait.ts';

const CHATS = { main: 42, kim: 43, lou: 44 } as const;
const IDS = Object.values(CHATS).map(String);
const slow = { timeoutMs: 120_000 };
const gone = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

interface Killed extends AsyncDisposable {
  readonly telegram: FakeTelegram;
  readonly start: (stage: 'accept1' | 'accept2' | 'never') => ChildProcess;
  /** The texts of the persons' messages that a home has accepted. */
  readonly acceptedBy: (name: keyof typeof CHATS) => readonly string[];
}

async function open(): Promise<Killed> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await tempFolder());
  const telegram = stack.use(await startFakeTelegram());
  const model = stack.use(await startFakeOpenAi());
  let holds = true;
  // No answer is on its way when the process dies, so none can be sent twice.
  model.setHandler(({ view }) =>
    holds ? { fault: 'hang' } : `re: ${view.lastUserText.match(/say \w+/gu)?.join(' ') ?? ''}`,
  );
  const program = await builtProgram();
  await mkdir(join(folder.path, 'workspace'));
  const agents = Object.fromEntries(
    (['kim', 'lou'] as const).map((name) => [name, { routes: [`telegram:${CHATS[name]}`] }]),
  );
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: IDS, owners: IDS } },
    log: { level: 'error', format: 'json' },
    agents,
  };
  await writeFile(join(folder.path, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const children: ChildProcess[] = [];
  stack.defer(async () => {
    for (const child of children) child.kill('SIGKILL');
    await waitFor(() => children.every(gone));
  });
  const owned = stack.move();
  return {
    telegram,
    start: (stage) => {
      holds = stage !== 'never';
      const env = program.environment();
      const child = spawn(process.execPath, [program.child('dying-child'), folder.path, stage], {
        stdio: 'ignore',
        env,
      });
      children.push(child);
      return child;
    },
    acceptedBy: (name) => {
      const home = name === 'main' ? folder.path : join(folder.path, 'agents', name);
      using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
      const rows = db.prepare("SELECT payload FROM inbound WHERE origin = 'user' ORDER BY seq").all();
      return rows.map(({ payload }) => String(JSON.parse(String(payload)).text));
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

test('killed between the homes of one batch: each message is accepted once, by the home of its chat, and answered once', async () => {
  await using world = await open();
  const said: Record<keyof typeof CHATS, string[]> = { main: [], kim: [], lou: [] };
  let number = 0;
  const sayEverywhere = (): void => {
    for (const name of ['main', 'kim', 'lou'] as const) {
      number += 1;
      const text = `say m${number}x`;
      said[name].push(text);
      world.telegram.userSays(CHATS[name], text);
    }
  };
  for (const stage of ['accept1', 'accept2'] as const) {
    sayEverywhere();
    const child = world.start(stage);
    await waitFor(() => gone(child), { ...slow, what: `the death at ${stage}` });
    // One home or two have it, and Telegram was told nothing.
    expect(world.telegram.unconfirmed.length).toBeGreaterThanOrEqual(3);
  }
  sayEverywhere();
  world.start('never');
  const answersIn = (name: keyof typeof CHATS): readonly string[] =>
    world.telegram.sentMessages.filter(({ chatId }) => chatId === CHATS[name]).map(({ visibleText }) => visibleText);
  for (const name of ['main', 'kim', 'lou'] as const) {
    const isAnswered = (): boolean => said[name].every((text) => answersIn(name).join('\n').includes(text));
    await waitFor(isAnswered, { ...slow, what: `the answers of ${name}` });
  }
  await waitFor(() => world.telegram.unconfirmed.length === 0, slow);
  for (const name of ['main', 'kim', 'lou'] as const) {
    expect(world.acceptedBy(name)).toEqual(said[name]);
    for (const text of said[name]) {
      expect(
        answersIn(name).filter((answer) => answer.includes(text)),
        text,
      ).toHaveLength(1);
    }
  }
});
