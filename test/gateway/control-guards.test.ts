import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startControlServer } from '../../src/core/gateway/control.ts';
import { connectControl } from '../../src/core/gateway/control-client.ts';
import { serveControl, type Handler } from '../../src/core/gateway/control-server.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { failureOf, temporaryFolder } from '../config/temporary-home.ts';
import { FakeAssistant, QUESTION, summaryOf } from './fake-assistant.ts';

type Client = NonNullable<Awaited<ReturnType<typeof connectControl>>>;

const newPath = (): string => join(temporaryFolder(), 'control.sock');

async function connected(handlers: Readonly<Record<string, Handler>>): Promise<Client> {
  const path = newPath();
  return await clientOf(path, serveControl({ path, version: '1', handlers, log: silentLog }));
}

/** A client that writes what it likes to an assistant. */
async function connectedTo(assistant: FakeAssistant): Promise<Client> {
  const path = newPath();
  return await clientOf(path, startControlServer({ path, version: '1', assistant, log: silentLog }));
}

async function clientOf(path: string, starting: Promise<AsyncDisposable>): Promise<Client> {
  const server = await starting;
  onTestFinished(() => server[Symbol.asyncDispose]());
  const client = await connectControl(path, systemClock);
  if (client === undefined) throw new Error('nobody listens');
  onTestFinished(() => client.close());
  return client;
}

test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', ''])('%j is no request', async (method) => {
  const client = await connected({ ping: async () => 'pong' });
  expect(await failureOf(client.request(method, null))).toMatchObject({ code: 'request-refused' });
});

test('a client asks for at most 256 things at once, and again when some are done', async () => {
  const gate = Promise.withResolvers<void>();
  const client = await connected({ wait: () => gate.promise, ping: async () => 'pong' });
  const waiting = Array.from({ length: 256 }, () => client.request('wait', null));
  expect(await failureOf(client.request('ping', null))).toMatchObject({ message: 'Too many requests at once.' });
  gate.resolve();
  await Promise.all(waiting);
  expect(await client.request('ping', null)).toBe('pong');
});

test.each(['yes', 1, null, {}, { approved: true }, { reason: 5 }, ['always']])(
  'an answer that is none is a no: %j',
  async (answer) => {
    const assistant = new FakeAssistant();
    assistant.script = async (_, { onApproval }) =>
      summaryOf(JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal)));
    const client = await connectedTo(assistant);
    client.request('open', { session: 'main', asks: true }, { onQuestion: async () => answer }).catch(() => {});
    expect(await client.request('say', { session: 'main', text: 'hi' })).toMatchObject({ text: 'false' });
  },
);

test('what a request is about is checked before anything is done', async () => {
  const assistant = new FakeAssistant();
  const done: string[] = [];
  assistant.answers = {
    pairApprove: async ({ code }) => {
      done.push(code);
      throw new Error('not reached');
    },
  };
  const client = await connectedTo(assistant);
  for (const given of [
    { name: 'pairApprove', params: { code: 5 } },
    { name: 'pairApprove', params: {} },
    { name: 'constructor', params: {} },
    {},
  ]) {
    const code = expect.stringMatching(/^operation-(?:invalid|unknown)$/u);
    expect(await failureOf(client.request('call', given))).toMatchObject({ code });
  }
  expect(done).toEqual([]);
});
