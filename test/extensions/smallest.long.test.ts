import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { readSession } from '../../src/app.ts';
import { ReconnectingAssistant } from '../../src/cli/reconnect.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { childEnvironment } from '../support/child-environment.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

const MAIN = fileURLToPath(new URL('../support/few-main.ts', import.meta.url));
const KILLS = Number(process.env['KILLS'] ?? 100);
/** A turn of the demo model takes about this long. */
const TURN_MS = 400;

test(`a program of a terminal, the demo model and one tool is killed ${KILLS} times and answers each message once`, async () => {
  await using folder = await tempFolder();
  const home = join(folder.path, 'home');
  await mkdir(home, { mode: 0o700 });
  const config = { agent: { model: 'demo/scripted' }, gateway: { port: 0 } };
  await writeFile(join(home, 'config.json'), JSON.stringify(config), { mode: 0o600 });
  const socket = join(home, 'control.sock');
  let child: ChildProcess | undefined;
  await using _end = { [Symbol.asyncDispose]: async () => void child?.kill('SIGKILL') };
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [MAIN, 'gateway', '--home', home], {
      stdio: 'ignore',
      env: childEnvironment({ HOME: folder.path, EXTENSIONS: 'terminal,demo,memory' }),
    });
    const listens = async (): Promise<boolean> => {
      await using found = await connectAssistant(socket, systemClock);
      return found !== undefined && (await found.call('info', {})).waiting === undefined;
    };
    await waitFor(listens, { timeoutMs: 60_000, what: 'the gateway' });
  };
  const kill = async (): Promise<void> => {
    const ended = new Promise((resolve) => child?.once('exit', resolve));
    child?.kill('SIGKILL');
    await ended;
  };
  await start();
  const connect = () => connectAssistant(socket, systemClock);
  const first = await connect();
  if (first === undefined) throw new Error('it does not listen');
  await using assistant = new ReconnectingAssistant(first, { clock: systemClock, connect });
  const told: string[] = [];
  using _attached = assistant.open('main', { onMessage: ({ text }) => void told.push(text) });
  let inside = 0;
  for (let n = 0; n < KILLS; n += 1) {
    let isOver = false;
    const answer = assistant
      .open('main')
      .send({ text: `remember that box ${n} is blue`, keeps: true })
      .finally(() => (isOver = true));
    await new Promise((resolve) => setTimeout(resolve, Math.random() * TURN_MS));
    if (!isOver) inside += 1;
    await kill();
    await start();
    expect((await answer).outcome, `after ${n} kills`).toBe('answered');
  }
  const events = await readSession(join(home, 'sessions'), 'terminal:main');
  const asked = events.flatMap(({ kind, text }) => (kind === 'user' ? [text] : []));
  for (let n = 0; n < KILLS; n += 1)
    expect(
      asked.filter((text) => text.includes(`box ${n} is`)),
      `message ${n}`,
    ).toHaveLength(1);
  const memory = await readFile(join(home, 'workspace', 'memory', 'MEMORY.md'), 'utf8');
  const facts = memory.match(/box \d+ is blue/gu) ?? [];
  expect(new Set(facts).size).toBe(facts.length);
  console.log({ kills: KILLS, inside, facts: facts.length });
  expect(inside).toBeGreaterThan(KILLS / 2);
});
