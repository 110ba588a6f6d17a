import { expect, test } from 'vitest';
import { ReconnectingAssistant } from '../../src/cli/reconnect.ts';
import { AppError } from '../../src/util/errors.ts';
import { failureOf } from '../config/temporary-home.ts';
import { aborted, FakeAssistant, summaryOf } from '../gateway/fake-assistant.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

/** An assistant whose connection a test can cut. */
class Cut extends FakeAssistant {
  readonly #lost = Promise.withResolvers<void>();
  readonly lost = this.#lost.promise;

  cut(): void {
    this.#lost.resolve();
  }
}

const lost = (): AppError => new AppError('connection-lost', 'The connection to the running assistant was lost.');

function reconnecting(
  first: Cut,
  next: () => Cut | undefined,
): { port: ReconnectingAssistant; clock: VirtualClock; told: string[] } {
  const clock = new VirtualClock();
  const told: string[] = [];
  const port = new ReconnectingAssistant(first, { clock, connect: async () => next() });
  port.watch({ news: (text) => told.push(text), over: (text) => told.push(`over: ${text}`) });
  return { port, clock, told };
}

test('a message that was cut off is sent again under the same id', async () => {
  const [first, second] = [new Cut(), new Cut()];
  first.script = async () => {
    first.cut();
    throw lost();
  };
  const { port, clock } = reconnecting(first, () => second);
  const answer = port.send({ session: 'main', text: 'hello' }, {});
  await clock.advance(1_000);
  expect(await answer).toMatchObject({ text: 'You said: hello' });
  expect(first.heard[0]?.id).toMatch(/^\S{20,}$/u);
  expect(second.heard).toEqual(first.heard);
});

test('whoever listens hears the next connection too, once, until they stop', async () => {
  const [first, second] = [new Cut(), new Cut()];
  const { port, clock } = reconnecting(first, () => second);
  const heard: string[] = [];
  const attached = port.attach('main', ({ text }) => heard.push(text));
  first.cut();
  await clock.advance(1_000);
  second.tell('main', 'a reminder');
  expect(heard).toEqual(['a reminder']);
  attached[Symbol.dispose]();
  second.tell('main', 'another');
  expect(heard).toEqual(['a reminder']);
});

test('after a minute it gives up: says how to start it, and what was not sent', async () => {
  const first = new Cut();
  const { port, clock, told } = reconnecting(first, () => undefined);
  first.cut();
  await clock.advance(59_000);
  const waiting = failureOf(port.send({ session: 'main', text: 'buy milk' }, {}));
  expect(told).toEqual([
    'The running assistant is gone. It is tried again for 60 seconds; what you send meanwhile is kept.',
  ]);
  await clock.advance(2_000);
  expect(told[1]).toBe(
    'over: The assistant did not come back. Start it with npm start, or talk without it: npm run chat',
  );
  expect(await waiting).toMatchObject({ code: 'connection-lost', message: 'Not sent: buy milk' });
});

test('a turn that is stopped while nobody is there does not wait', async () => {
  const first = new Cut();
  const { port, clock } = reconnecting(first, () => undefined);
  first.cut();
  await clock.advance(1_000);
  const stop = new AbortController();
  const waiting = expect(port.send({ session: 'main', text: 'x' }, { signal: stop.signal })).rejects.toThrow('stopped');
  stop.abort(new Error('stopped'));
  await waiting;
});

test('an ordinary failure stays one', async () => {
  const first = new Cut();
  first.script = async (_, { signal }) => {
    await aborted(signal);
    return summaryOf('Stopped.', { outcome: 'stopped' });
  };
  const { port } = reconnecting(first, () => undefined);
  expect(await port.send({ session: 'main', text: 'x' }, { signal: AbortSignal.abort() }).catch(() => null)).toBeNull();
  first.script = async () => {
    throw new AppError('other', 'No.');
  };
  expect(await failureOf(port.send({ session: 'main', text: 'x' }, {}))).toMatchObject({ code: 'other' });
});
