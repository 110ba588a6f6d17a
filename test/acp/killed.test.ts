import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { waitFor } from '../support/wait.ts';
import { begin, load, say, startEditorWorld, textOf } from './editor.ts';

const LONG = 'It begins. '.concat('A sentence of the answer. '.repeat(12), 'It ends.');

describe.concurrent('a conversation in an editor whose program goes away', () => {
  test('killed while the model writes, it is loaded, goes on by itself and ends in the new editor', async () => {
    await using world = await startEditorWorld();
    world.model.reply({ text: LONG, eventDelayMs: 100 });
    const first = await world.editor();
    const sessionId = await begin(first, world.workspace);
    const lost = say(first, sessionId, 'tell me');
    await waitFor(() => first.said() !== '', { what: 'the beginning of the answer' });
    await Promise.all([expect(lost).rejects.toThrow(), first.kill('SIGKILL')]);
    world.model.reply({ text: LONG, eventDelayMs: 20 });
    const second = await world.editor();
    await load(second, sessionId, world.workspace);
    expect(textOf(second.updates, 'user_message_chunk')).toBe('tell me');
    await waitFor(() => second.said() === LONG, { what: 'the whole answer, once' });
    world.model.reply('That was all.');
    expect(await say(second, sessionId, 'and then?')).toEqual({ stopReason: 'end_turn' });
    expect(second.said()).toBe(`${LONG}That was all.`);
  });

  test('killed while a question is open, it is asked again when it is loaded, and the yes counts', async () => {
    await using world = await startEditorWorld({ tools: { exec: { mode: 'ask' } } });
    world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'echo yes > yes.txt' } }] }, 'Done.');
    const first = await world.editor({ choose: () => undefined });
    const sessionId = await begin(first, world.workspace);
    const lost = say(first, sessionId, 'run it');
    await waitFor(() => first.asked.length === 1, { what: 'the question' });
    await Promise.all([expect(lost).rejects.toThrow(), first.kill('SIGKILL')]);
    const second = await world.editor();
    await load(second, sessionId, world.workspace);
    await waitFor(() => second.said() === 'Done.', { what: 'the end of the turn' });
    expect(second.asked).toHaveLength(1);
    expect(await readFile(join(world.workspace, 'yes.txt'), 'utf8')).toBe('yes\n');
  });

  test('attached to a gateway that is killed, the prompt goes on when it runs again and ends with the answer', async () => {
    await using world = await startEditorWorld();
    const gateway = await world.gateway();
    world.model.reply({ text: LONG, eventDelayMs: 100 });
    const editor = await world.editor();
    const sessionId = await begin(editor, world.workspace);
    const going = say(editor, sessionId, 'tell me');
    await waitFor(() => editor.said() !== '', { what: 'the beginning of the answer' });
    await gateway.kill('SIGKILL');
    world.model.reply({ text: LONG, eventDelayMs: 20 });
    await world.gateway();
    expect(await going).toEqual({ stopReason: 'end_turn' });
    expect(editor.said()).toBe(LONG);
  });

  test('attached to a gateway, the turn goes on when the editor closes, and its answer is there when it is loaded', async () => {
    await using world = await startEditorWorld();
    await world.gateway();
    world.model.reply({ text: LONG, eventDelayMs: 60 });
    const first = await world.editor();
    const sessionId = await begin(first, world.workspace);
    const lost = say(first, sessionId, 'tell me');
    lost.catch(() => {});
    await waitFor(() => first.said() !== '', { what: 'the beginning of the answer' });
    expect(await first.close()).toBe(0);
    await waitFor(() => world.model.inFlight === 0, { what: 'the end of the answer' });
    expect(world.model.requests).toHaveLength(1);
    const second = await world.editor();
    await load(second, sessionId, world.workspace);
    await waitFor(() => second.said() === LONG, { what: 'the whole answer, once' });
  });
});
