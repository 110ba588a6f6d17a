import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Hooks } from '../../src/core/agent/hooks/hooks.ts';
import { startApi } from '../support/api-world.ts';
import type { Step } from '../support/model-script.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from '../support/world.ts';

/** What no one may read, and what stands in its place. */
const WORD = 'wintergreen';
const COVER = '[covered]';
const ANSWER = `The word is ${WORD}. ${'It has a long story. '.repeat(20)}Again: ${WORD}.`;
const COVERED = ANSWER.replaceAll(WORD, COVER);

const covers: Hooks['render'] = async (_turn, text) => ({ type: 'replace', value: text.replaceAll(WORD, COVER) });
const guarded = (options: WorldOptions = {}): WorldOptions => ({
  ...options,
  hooks: [{ owner: 'cover', hooks: { render: covers }, guard: true }],
});

/** Slow enough that a preview is sent while it is written. */
const slowly = (text: string): { text: string; chunkSize: number; eventDelayMs: number } => ({
  text,
  chunkSize: 20,
  eventDelayMs: 60,
});
const call = (name: string, given: Readonly<Record<string, unknown>>, text = ''): Step => ({
  text,
  calls: [{ name, arguments: given }],
});

/** All that the Bot API was ever told, previews and edits included. */
const told = (world: World): string => JSON.stringify(world.telegram.calls);

/** What the sessions keep of the model's own texts. */
async function kept(world: World): Promise<string> {
  const folder = join(world.home, 'sessions');
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
  return (await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')))).join('\n');
}

describe('a text that a render hook changes is changed', () => {
  test('in a chat, also in the preview that grows while the model writes', async () => {
    await using world = await startWorld(guarded());
    world.model.reply(slowly(ANSWER));
    world.telegram.userSays(OWNER, 'tell me');
    await waitFor(() => chatOf(world).includes(COVERED), { what: 'the answer' });
    expect(told(world)).not.toContain(WORD);
    expect(await kept(world)).not.toContain(WORD);
  });

  test('for a program that runs the assistant and on the page: the result, each event, the history', async () => {
    await using api = await startApi(guarded());
    const { world } = api;
    world.model.reply({ reasoning: `They want ${WORD}.`, ...slowly(ANSWER) }, ANSWER);
    const events: unknown[] = [];
    for await (const event of world.assistant.stream('tell me', { session: 's' })) events.push(event);
    expect(JSON.stringify(events)).not.toContain(WORD);
    expect(events).toContainEqual(expect.objectContaining({ type: 'text', text: COVERED }));
    expect(await world.assistant.run('again', { session: 's' })).toMatchObject({ text: COVERED });
    const history = await (await api.ask('/api/sessions/terminal%3As/history')).text();
    expect(history).toContain(COVERED);
    expect(history).not.toContain(WORD);
  });

  test('over the API, at once and streamed, in both of its forms', async () => {
    await using api = await startApi(guarded());
    const { model } = api.world;
    const messages = [{ role: 'user', content: 'tell me' }];
    const bodies = [
      ['/v1/chat/completions', { model: 'assistant', messages }],
      ['/v1/chat/completions', { model: 'assistant', messages, stream: true }],
      ['/v1/responses', { model: 'assistant', input: 'tell me' }],
      ['/v1/responses', { model: 'assistant', input: 'tell me', stream: true }],
    ] as const;
    for (const [path, body] of bodies) {
      model.reply(slowly(ANSWER));
      const answer = await (await api.post(path, body)).text();
      expect(answer).toContain(COVER);
      expect(answer).not.toContain(WORD);
    }
  });

  test('in what is said between tool calls, sent with the message tool and asked of a person', async () => {
    await using world = await startWorld(guarded());
    world.model.reply(
      call('list_dir', {}, ANSWER),
      call('message', { text: `Soon: ${WORD}.`, buttons: [WORD, 'No'] }),
      call('ask_user', { question: `Do you know ${WORD}?`, choices: [WORD, 'No'] }),
      'Thanks.',
    );
    world.telegram.userSays(OWNER, 'go');
    await waitFor(() => chatOf(world).some((text) => text.includes(`Do you know ${COVER}?`)), { what: 'the question' });
    world.telegram.userSays(OWNER, 'No');
    await waitFor(() => chatOf(world).includes('Thanks.'), { what: 'the answer' });
    expect(chatOf(world)).toEqual(expect.arrayContaining([COVERED, `Soon: ${COVER}.`, 'Thanks.']));
    expect(told(world)).not.toContain(WORD);
  });

  test('in the result of a subagent, the answer of a job and a reminder', async () => {
    await using world = await startWorld(guarded());
    world.model.setHandler(({ view }) =>
      view.tools.includes('spawn') && !view.lastUserText.includes('counted')
        ? view.toolResults.length > 0
          ? 'It counts.'
          : call('spawn', { task: 'count', label: 'counting', wait: true })
        : `counted ${WORD}`,
    );
    await world.assistant.run('count', { session: 's' });
    expect(JSON.stringify(world.model.requests.at(-1)?.view.toolResults)).toContain(`counted ${COVER}`);
    world.model.setHandler(() => ANSWER);
    const chat = { when: 'every 2h', chat: `telegram:${OWNER}` };
    for (const job of [
      { ...chat, id: 'task', kind: 'agent', text: 'tell' },
      { ...chat, id: 'reminder', kind: 'message', text: `Drink ${WORD} tea.` },
    ] as const) {
      await world.assistant.call('cron', { action: 'add', job });
      await world.assistant.call('cron', { action: 'run', id: job.id });
    }
    await waitFor(() => chatOf(world).includes(`Drink ${COVER} tea.`), { what: 'the reminder' });
    await waitFor(() => chatOf(world).includes(COVERED), { what: 'the answer of the task' });
    expect(told(world)).not.toContain(WORD);
  });

  test('where the output limit cut it in two', async () => {
    await using world = await startWorld(guarded());
    world.model.reply({ text: 'The word is winter', finishReason: 'length' }, 'green. That is all.');
    expect(await world.assistant.run('tell me', { session: 's' })).toMatchObject({
      text: `The word is ${COVER}. That is all.`,
    });
  });

  test('in the sentence about a failed turn', async () => {
    const beforeModel: Hooks['beforeModel'] = () => ({ type: 'deny', reason: `No talk of ${WORD}.` });
    await using world = await startWorld({
      hooks: [{ owner: 'strict', hooks: { beforeModel } }, ...(guarded().hooks ?? [])],
    });
    expect(await world.assistant.run('tell me')).toMatchObject({ outcome: 'failed', text: `No talk of ${COVER}.` });
  });
});

test('a guard that fails shows nothing of the answer', async () => {
  const render: Hooks['render'] = () => {
    throw new Error('no eyes');
  };
  await using world = await startWorld({ hooks: [{ owner: 'cover', hooks: { render }, guard: true }] });
  world.model.reply(slowly(ANSWER));
  const events: unknown[] = [];
  for await (const event of world.assistant.stream('tell me')) events.push(event);
  expect(JSON.stringify(events)).not.toContain('long story');
  expect(events.at(-1)).toMatchObject({ type: 'turn-end', result: { outcome: 'answered', text: '' } });
});
