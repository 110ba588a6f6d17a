import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { builtProgram } from '../support/built-program.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { say } from '../support/say.ts';

const program = await builtProgram();

test('a question that was open when the process was killed counts as a no: nothing ran, and the turn is finished', async () => {
  await using folder = await tempFolder();
  await using model = await startFakeOpenAi();
  const home = join(folder.path, 'home');
  const { socket, workspace } = homePaths(home);
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(
    join(home, 'config.json'),
    JSON.stringify({
      agent: { model: 'openai/scripted-model' },
      providers: { openai: { apiKey: 'test-key-12345678', baseUrl: model.url } },
      tools: { exec: { mode: 'ask' } },
    }),
  );
  const env = program.environment({ HOME: folder.path });
  const start = (): ReturnType<typeof spawn> =>
    spawn(process.execPath, [program.main, 'gateway', '--home', home, '--port', '0'], { stdio: 'ignore', env });
  const connect = () => waitFor(() => connectAssistant(socket, systemClock), { timeoutMs: 60_000, what: 'the socket' });

  model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch ran' } }] }, 'I was not allowed to.');
  const first = start();
  const client = await connect();
  let asked = '';
  const sent = say(client, 'touch it', { onApproval: (question) => new Promise(() => (asked = question.detail)) });
  sent.catch(() => {});
  await waitFor(() => asked === 'touch ran', { what: 'the question' });
  const died = new Promise((resolve) => first.once('exit', resolve));
  first.kill('SIGKILL');
  await died;

  const second = start();
  await using again = await connect();
  const messages: string[] = [];
  using _attached = again.open('main', { onMessage: ({ text }) => messages.push(text) });
  await waitFor(() => messages.length > 0, { what: 'the answer' });
  expect(messages).toEqual(['I was not allowed to.\n\nNot done: `touch ran` was refused.']);
  expect(model.requests[1]?.view.toolResults[0]?.text).toContain('no one can be asked');
  expect(existsSync(join(workspace, 'ran'))).toBe(false);
  const ended = new Promise((resolve) => second.once('exit', resolve));
  second.kill('SIGTERM');
  await ended;
});

test('a question in a chat outlives the process: killed twice, it is asked once, and what was allowed runs once', async () => {
  await using folder = await tempFolder();
  await using model = await startFakeOpenAi();
  await using telegram = await startFakeTelegram();
  const home = join(folder.path, 'home');
  const { workspace } = homePaths(home);
  await mkdir(workspace, { recursive: true, mode: 0o700 });
  await writeFile(
    join(home, 'config.json'),
    JSON.stringify({
      agent: { model: 'openai/scripted-model' },
      providers: { openai: { apiKey: 'test-key-12345678', baseUrl: model.url } },
      channels: { telegram: { token: telegram.token, apiRoot: telegram.apiRoot, allowFrom: ['42'] } },
      tools: { exec: { mode: 'ask' } },
    }),
  );
  const env = program.environment({ HOME: folder.path });
  const start = (): ReturnType<typeof spawn> =>
    spawn(process.execPath, [program.main, 'gateway', '--home', home, '--port', '0'], { stdio: 'ignore', env });
  const end = async (child: ReturnType<typeof spawn>, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> => {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    await ended;
  };
  const says = (part: string): readonly string[] =>
    telegram.sentMessages.map(({ visibleText }) => visibleText).filter((text) => text.includes(part));

  model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo x >> ran' } }] }, 'Done.');
  telegram.userSays(42, 'go');
  const first = start();
  await waitFor(() => says('/approve').length > 0, { timeoutMs: 60_000, what: 'the question' });
  await end(first, 'SIGKILL');
  // Pressed while nobody was there.
  const code = /\/approve (\w+)/u.exec(says('/approve')[0] ?? '')?.[1] ?? '';
  const second = start();
  await waitFor(() => telegram.polling, { timeoutMs: 60_000, what: 'the second process' });
  await end(second, 'SIGKILL');
  telegram.userPresses(42, telegram.sentMessages[0]?.messageId ?? 0, `approve:${code}`);
  const third = start();
  await waitFor(() => says('Done.').length > 0, { timeoutMs: 60_000, what: 'the answer' });
  expect(await readFile(join(workspace, 'ran'), 'utf8')).toBe('x\n');
  // A kill between the bytes and their record makes one marked resend, as for any message.
  expect(says('echo x').filter((text) => !text.startsWith('↻'))).toHaveLength(1);
  await end(third, 'SIGTERM');
});
