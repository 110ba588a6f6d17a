import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { methods } from '@agentclientprotocol/sdk';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { begin, load, say, startEditorWorld, textOf, type Editor } from './editor.ts';

const LONG = 'It begins. '.concat('A sentence of the answer. '.repeat(12), 'It ends.');

/** How often each text of the person and of the assistant is shown. */
function counted(editor: Editor, texts: readonly string[]): readonly number[] {
  const all = `${textOf(editor.updates, 'user_message_chunk')}${editor.said()}`;
  return texts.map((text) => all.split(text).length - 1);
}

describe.concurrent('a conversation under rough handling', () => {
  test.each([undefined, null])(
    'is opened, loaded and resumed by an editor whose mcpServers is %s',
    async (mcpServers) => {
      await using world = await startEditorWorld();
      const { connection } = await world.editor();
      const { session } = methods.agent;
      const opened: Record<string, unknown> = { cwd: world.workspace, ...(mcpServers === null ? { mcpServers } : {}) };
      const { sessionId } = await connection.agent.request<{ sessionId: string }>(session.new, opened);
      await connection.agent.request<object>(session.load, { ...opened, sessionId });
      await connection.agent.request<object>(session.resume, { ...opened, sessionId });
      world.model.reply('Hello.');
      const prompt = [{ type: 'text', text: 'hi' }];
      expect(await connection.agent.request<object>(session.prompt, { sessionId, prompt })).toEqual({
        stopReason: 'end_turn',
      });
    },
  );

  test('after a gateway that was killed in an answer, loading shows each message once', async () => {
    await using world = await startEditorWorld();
    const gateway = await world.gateway();
    const first = await world.editor();
    const sessionId = await begin(first, world.workspace);
    world.model.reply('Hello there.');
    await say(first, sessionId, 'good morning');
    world.model.reply({ text: LONG, eventDelayMs: 100 });
    const going = say(first, sessionId, 'tell me');
    await waitFor(() => first.said().includes('It begins.'), { what: 'the beginning of the answer' });
    await gateway.kill('SIGKILL');
    world.model.reply({ text: LONG, eventDelayMs: 5 });
    await world.gateway();
    expect(await going).toEqual({ stopReason: 'end_turn' });
    const texts = ['good morning', 'Hello there.', 'tell me', 'It begins.', 'It ends.'];
    expect(
      counted(
        first,
        texts.filter((text) => text !== 'good morning' && text !== 'tell me'),
      ),
    ).toEqual([1, 1, 1]);
    const second = await world.editor();
    await load(second, sessionId, world.workspace);
    expect(counted(second, texts)).toEqual([1, 1, 1, 1, 1]);
    await load(first, sessionId, world.workspace);
    expect(counted(first, ['good morning', 'tell me'])).toEqual([1, 1]);
  });

  test('a question that was open when the gateway was killed is asked again, and its yes counts once', async () => {
    await using world = await startEditorWorld({ tools: { exec: { mode: 'ask' } } });
    const gateway = await world.gateway();
    let isThere = false;
    const editor = await world.editor({ choose: () => (isThere ? 'once' : undefined) });
    const sessionId = await begin(editor, world.workspace);
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo yes >> yes.txt' } }] }, 'Done.');
    const going = say(editor, sessionId, 'run it');
    await waitFor(() => editor.asked.length === 1, { what: 'the question' });
    isThere = true;
    await gateway.kill('SIGKILL');
    await world.gateway();
    expect(await going).toEqual({ stopReason: 'end_turn' });
    expect(editor.asked).toHaveLength(2);
    expect(editor.said()).toBe('Done.');
    expect(await readFile(join(world.workspace, 'yes.txt'), 'utf8')).toBe('yes\n');
  });

  test('a write that the editor had not answered when the gateway was killed is made once', async () => {
    await using world = await startEditorWorld();
    const gateway = await world.gateway();
    const path = join(world.project, 'a.txt');
    await writeFile(path, 'one\n');
    let isBack = false;
    let writes = 0;
    const editor = await world.editor({
      files: {
        read: () => readFile(path, 'utf8'),
        write: async ({ content }, signal) => {
          writes += 1;
          if (!isBack) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          else await writeFile(path, content);
        },
      },
    });
    const sessionId = await begin(editor, world.project);
    world.model.reply({ calls: [{ name: 'write_file', arguments: { path, content: 'two\n' } }] }, 'Done.');
    const going = say(editor, sessionId, 'two');
    await waitFor(() => writes === 1, { what: 'the write in the editor' });
    isBack = true;
    await gateway.kill('SIGKILL');
    await world.gateway();
    expect(await going).toEqual({ stopReason: 'end_turn' });
    expect(await readFile(path, 'utf8')).toBe('two\n');
    expect(editor.said()).toBe('Done.');
  });

  test('of two editors in one conversation the newer one is asked, and when it is killed in the question, the other', async () => {
    await using world = await startEditorWorld({ tools: { exec: { mode: 'ask' } } });
    await world.gateway();
    const first = await world.editor();
    const sessionId = await begin(first, world.workspace);
    const second = await world.editor({ choose: () => undefined });
    await load(second, sessionId, world.workspace);
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo yes > yes.txt' } }] }, 'Done by one.');
    const going = say(first, sessionId, 'run it');
    await waitFor(() => second.asked.length === 1, { what: 'the question in the newer editor' });
    expect(first.asked).toEqual([]);
    await second.kill('SIGKILL');
    expect(await going).toEqual({ stopReason: 'end_turn' });
    expect(first.asked).toHaveLength(1);
    expect(await readFile(join(world.workspace, 'yes.txt'), 'utf8')).toBe('yes\n');
    const third = await world.editor();
    await load(third, sessionId, world.workspace);
    world.model.reply('Heard by both.');
    await say(third, sessionId, 'who hears this?');
    await waitFor(() => first.said().includes('Heard by both.'), { what: 'the answer in the other editor' });
    expect(counted(first, ['Done by one.', 'Heard by both.'])).toEqual([1, 1]);
    expect(counted(third, ['Done by one.', 'Heard by both.'])).toEqual([1, 1]);
  });
});
