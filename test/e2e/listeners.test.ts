import { describe, expect, test } from 'vitest';
import type { OutboundEvent, TurnSummary } from '../../src/core/bus/messages.ts';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { recordingLog } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { say } from '../support/say.ts';

const broken = (): never => {
  throw new Error('the listener is broken');
};

const ask = (world: World, text: string, onEvent?: (event: OutboundEvent) => void): Promise<TurnSummary> =>
  say(world.assistant, text, onEvent === undefined ? {} : { onEvent });

describe('a program whose listener throws', () => {
  test('at each event still gets its answer; the model is asked once, and the log says it once', async () => {
    const log = recordingLog();
    await using world = await startWorld({ log });
    world.model.reply('Four.');
    const result = await ask(world, 'two and two?', broken);
    expect(result).toMatchObject({ outcome: 'answered', text: 'Four.' });
    expect(world.model.requests).toHaveLength(1);
    expect(log.lines.filter(({ fields }) => String(fields['reason']).includes('the listener is broken'))).toHaveLength(
      1,
    );
  });

  test('at the end of its turn still gets its answer, and so does the next one', async () => {
    await using world = await startWorld();
    world.model.reply('Four.', 'Nine.');
    const onEvent = ({ type }: OutboundEvent): void => {
      if (type === 'turn-end') broken();
    };
    expect((await ask(world, 'two and two?', onEvent)).text).toBe('Four.');
    expect((await ask(world, 'three times three?')).text).toBe('Nine.');
  });

  test('keeps its answer from nobody else: another caller of the session, its chat and other chats get theirs', async () => {
    await using world = await startWorld();
    world.model.setHandler(({ view }) => `About ${/(?:first|second|third)/u.exec(view.lastUserText)?.[0]}.`);
    const heard: OutboundEvent[] = [];
    const [first, second] = await Promise.all([
      ask(world, 'the first', broken),
      ask(world, 'the second', (event) => void heard.push(event)),
    ]);
    world.telegram.userSays(OWNER, 'the third');
    await waitFor(() => chatOf(world).length === 1, { what: 'the answer in the chat' });
    expect([first.outcome, second.outcome]).toEqual(['answered', 'answered']);
    expect(heard.map(({ type }) => type)).toContain('turn-end');
    expect(chatOf(world)).toEqual(['About third.']);
  });

  test('over the control socket gets its answer too, and its connection stays', async () => {
    await using world = await startWorld();
    world.model.reply('Four.', 'Nine.');
    await using client = await connectAssistant(homePaths(world.home).socket, systemClock);
    if (client === undefined) throw new Error('nobody listens');
    expect((await say(client, 'two and two?', { onEvent: broken })).text).toBe('Four.');
    expect((await say(client, 'three times three?')).text).toBe('Nine.');
  });
});

test('a program that cannot show a question is a no, and its turn goes on', async () => {
  await using world = await startWorld({ config: { tools: { exec: { sandbox: 'off' } } } });
  world.model.reply({ calls: [{ name: 'exec', arguments: { command: 'touch made' } }] }, 'You said no.');
  const result = await world.assistant.run('make a file', { onApproval: broken });
  expect(result.text).toBe('You said no.\n\nNot done: `touch made` was refused.');
  expect(world.model.requests).toHaveLength(2);
});
