import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startFakeTelegram } from '../support/fake-telegram.ts';
import { waitFor } from '../support/wait.ts';
import { begin, startEditorWorld, say } from './editor.ts';

const OWNER = 42;

test('a question whose editor closes is asked in the chat of the owner, whose yes counts', async () => {
  await using telegram = await startFakeTelegram();
  const { token, apiRoot } = telegram;
  await using world = await startEditorWorld({
    tools: { exec: { mode: 'ask' } },
    channels: { telegram: { token, apiRoot, allowFrom: [String(OWNER)], owners: [String(OWNER)] } },
  });
  const sent = (pattern: RegExp): string | undefined =>
    telegram.sentMessages.map(({ text }) => text).find((text) => pattern.test(text));
  await world.gateway();
  world.model.reply('Hello.');
  telegram.userSays(OWNER, 'hello');
  await waitFor(() => sent(/^Hello\.$/u), { what: 'the answer on Telegram' });
  world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo yes > yes.txt' } }] }, 'Done.');
  const editor = await world.editor({ choose: () => undefined });
  const sessionId = await begin(editor, world.workspace);
  say(editor, sessionId, 'run it').catch(() => {});
  await waitFor(() => editor.asked.length === 1, { what: 'the question in the editor' });
  expect(sent(/\/approve/u)).toBeUndefined();
  await editor.close();
  const question = await waitFor(() => sent(/\/approve/u), { what: 'the question on Telegram' });
  expect(question).toContain('echo yes &gt; yes.txt');
  telegram.userSays(OWNER, `/approve ${/\/approve (\w+)/u.exec(question)?.[1] ?? ''}`);
  const written = await waitFor(() => readFile(join(world.workspace, 'yes.txt'), 'utf8'), { what: 'the file' });
  expect(written).toBe('yes\n');
  await waitFor(() => world.model.pending === 0 && world.model.inFlight === 0, { what: 'the end of the turn' });
});
