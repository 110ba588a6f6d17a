import { expect, test } from 'vitest';
import { ReconnectingAssistant } from '../../src/cli/reconnect.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { failureOf } from '../config/temporary-home.ts';
import { aborted, summaryOf } from '../gateway/fake-assistant.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { Cut } from './cut-assistant.ts';
import { say } from '../support/say.ts';

const lost = (): AppError => new AppError('connection-lost', 'The connection to the running assistant was lost.');

function reconnecting(
  first: Cut,
  next: () => Cut | undefined,
): { port: ReconnectingAssistant; clock: VirtualClock; told: string[] } {
  const clock = new VirtualClock();
  const told: string[] = [];
  const port = new ReconnectingAssistant(first, { clock, connect: async () => next() });
  port.watch({ news: (text) => told.push(text) });
  return { port, clock, told };
}

test('a message that was cut off is sent again under the same id', async () => {
  const [first, second] = [new Cut(), new Cut()];
  first.script = async () => {
    first.cut();
    throw lost();
  };
  const { port, clock } = reconnecting(first, () => second);
  const answer = say(port, 'hello');
  await clock.advance(1_000);
  expect(await answer).toMatchObject({ text: 'You said: hello' });
  expect(first.heard[0]?.id).toMatch(/^\S{20,}$/u);
  expect(second.heard).toEqual(first.heard);
});

test('whoever listens hears the next connection too, once, until they stop', async () => {
  const [first, second] = [new Cut(), new Cut()];
  const { port, clock } = reconnecting(first, () => second);
  const heard: string[] = [];
  const attached = port.open('main', { onMessage: ({ text }) => heard.push(text) });
  first.cut();
  await clock.advance(1_000);
  second.tell('main', 'a reminder');
  expect(heard).toEqual(['a reminder']);
  attached[Symbol.dispose]();
  second.tell('main', 'another');
  expect(heard).toEqual(['a reminder']);
});

test('it keeps trying, says once how to start the assistant, and sends what waited when it is back', async () => {
  const [first, second] = [new Cut(), new Cut()];
  let next: Cut | undefined;
  const { port, clock, told } = reconnecting(first, () => next);
  first.cut();
  await clock.advance(29_000);
  const answer = say(port, 'buy milk');
  expect(told).toEqual(['The running assistant is gone. I keep trying to reach it; what you send meanwhile waits.']);
  await clock.advance(3_600_000);
  expect(told.slice(1)).toEqual(['It is still gone. To start it in another terminal: npm start']);
  next = second;
  await clock.advance(5_000);
  expect(told.at(-1)).toBe('The assistant is back.');
  expect(await answer).toMatchObject({ text: 'You said: buy milk' });
});

test('a message that is stopped while nobody is there is given back', async () => {
  const first = new Cut();
  const { port, clock } = reconnecting(first, () => undefined);
  first.cut();
  await clock.advance(1_000);
  const stop = new AbortController();
  const waiting = say(port, 'buy milk', { signal: stop.signal }).catch((error) => error);
  stop.abort(new Error('stopped'));
  expect(await waiting).toMatchObject({ name: 'NotSentError', text: 'buy milk' });
});

test('an ordinary failure stays one', async () => {
  const first = new Cut();
  first.script = async (_, { signal }) => {
    await aborted(signal);
    return summaryOf('Stopped.', { outcome: 'stopped' });
  };
  const { port } = reconnecting(first, () => undefined);
  expect(await say(port, 'x', { signal: AbortSignal.abort() }).catch(() => null)).toBeNull();
  first.script = async () => {
    throw new AppError('other', 'No.');
  };
  expect(await failureOf(say(port, 'x'))).toMatchObject({ code: 'other' });
});
