import { statSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectAssistant, startControlServer } from '../../src/core/gateway/control.ts';
import { connectControl } from '../../src/core/gateway/control-client.ts';
import { serveControl, type Handler } from '../../src/core/gateway/control-server.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { silentLog, type Logger } from '../../src/core/util/log.ts';
import { failureOf, temporaryFolder } from '../config/temporary-home.ts';
import { recordingLog } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { VirtualClock } from '../support/virtual-clock.ts';
import { aborted, FakeAssistant, INFO, QUESTION, summaryOf, textEvent } from './fake-assistant.ts';
import { say } from '../support/say.ts';

function socketPath(): string {
  return join(temporaryFolder(), 'control.sock');
}

async function serve(
  handlers: Readonly<Record<string, Handler>>,
  { path = socketPath(), log = silentLog }: { readonly path?: string; readonly log?: Logger } = {},
): Promise<string> {
  const server = await serveControl({ path, version: '1', handlers, log });
  onTestFinished(() => server[Symbol.asyncDispose]());
  return path;
}

async function client(path: string): Promise<NonNullable<Awaited<ReturnType<typeof connectControl>>>> {
  const connected = await connectControl(path, systemClock);
  if (connected === undefined) throw new Error('nobody listens');
  onTestFinished(() => connected.close());
  return connected;
}

/** A client that writes what it likes and reads only when told to. */
async function raw(path: string): Promise<Socket> {
  const socket = connect(path);
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  return socket;
}

async function remoteOf(assistant: FakeAssistant): Promise<NonNullable<Awaited<ReturnType<typeof connectAssistant>>>> {
  const path = socketPath();
  const server = await startControlServer({ path, version: '1', assistant, log: silentLog });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const remote = await connectAssistant(path, systemClock);
  if (remote === undefined) throw new Error('nobody listens');
  onTestFinished(() => remote[Symbol.asyncDispose]());
  return remote;
}

describe('the socket', () => {
  test('is for its user alone', async () => {
    expect(statSync(await serve({})).mode & 0o777).toBe(0o600);
  });

  test('takes the place of one that was left behind', async () => {
    const path = socketPath();
    writeFileSync(path, '');
    await serve({ ping: async () => 'pong' }, { path });
    expect(await (await client(path)).request('ping', null)).toBe('pong');
  });

  test('is gone after the server ended, and clients are told', async () => {
    const path = socketPath();
    const started = Promise.withResolvers<void>();
    const wait: Handler = async (_, { signal }) => {
      started.resolve();
      await aborted(signal);
      return 'stopped';
    };
    const server = await serveControl({ path, version: '1', handlers: { wait }, log: silentLog });
    const connected = await client(path);
    const waiting = connected.request('wait', null);
    await started.promise;
    await server[Symbol.asyncDispose]();
    expect(await waiting).toBe('stopped');
    await waitFor(async () => (await failureOf(connected.request('wait', null))).code === 'connection-lost');
    expect(await connectControl(path, systemClock)).toBeUndefined();
  });

  test('that nobody listens at is no assistant', async () => {
    expect(await connectAssistant(join(temporaryFolder(), 'none'), systemClock)).toBeUndefined();
    const leftover = socketPath();
    writeFileSync(leftover, '');
    expect(await connectAssistant(leftover, systemClock)).toBeUndefined();
  });

  test('of an assistant that hangs or speaks another protocol is a clear sentence', async () => {
    let hello = '';
    const path = socketPath();
    const server = createServer((socket) => void socket.write(hello));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    onTestFinished(() => void server.close());
    const clock = new VirtualClock();
    const hanging = failureOf(connectControl(path, clock));
    await waitFor(() => clock.waiting > 0);
    await clock.advance(6_000);
    expect((await hanging).message).toContain('does not answer');
    for (const spoken of [1, 99]) {
      hello = `{"hello":{"protocol":${spoken},"version":"9"}}\n`;
      expect(await failureOf(connectControl(path, systemClock))).toMatchObject({
        code: 'control-version',
        message: 'The running assistant has another version than this command. Restart it.',
      });
    }
  });
});

describe('a program of the first version', () => {
  /** What it reads after the greeting when it writes these lines. */
  const answers = async (assistant: FakeAssistant, ...lines: readonly object[]): Promise<readonly unknown[]> => {
    const path = socketPath();
    const server = await startControlServer({ path, version: '2.0.0', assistant, log: silentLog });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const socket = await raw(path);
    let text = '';
    socket.on('data', (chunk) => (text += String(chunk)));
    for (const line of lines) socket.write(`${JSON.stringify(line)}\n`);
    await waitFor(() => text.split('\n').length === lines.length + 2);
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as unknown]));
  };

  test('takes the greeting for its own, learns which version runs, and can have it restarted: it may be upgrading', async () => {
    const assistant = new FakeAssistant();
    const [greeting, info, restarted] = await answers(
      assistant,
      { id: 1, method: 'info', params: null },
      { id: 2, method: 'send', params: { session: 'main', text: '/restart', asks: false } },
    );
    expect(greeting).toMatchObject({ hello: { protocol: 1, version: '2.0.0' } });
    expect(info).toMatchObject({ id: 1, result: { version: INFO.version, pid: INFO.pid } });
    expect(restarted).toMatchObject({ id: 2, result: { text: 'You said: /restart' } });
  });

  test.each([
    ['send', { session: 'main', text: 'hi', asks: true }],
    ['attach', { session: 'main', live: true, asks: true, servers: [] }],
    ['request', { name: 'pairList', params: {} }],
    ['tools', null],
    ['runTool', { name: 'exec', arguments: '{}', dryRun: false }],
  ])('gets one sentence that says what to do for everything else: %s', async (method, params) => {
    const assistant = new FakeAssistant();
    const [, answer] = await answers(assistant, { id: 1, method, params });
    expect(answer).toMatchObject({ id: 1, error: { message: expect.stringContaining('End it and run it again.') } });
    expect(assistant.heard).toEqual([]);
  });
});

describe('requests', () => {
  test('run side by side and get their own answers', async () => {
    const first = Promise.withResolvers<string>();
    const path = await serve({ first: () => first.promise, second: async (params) => ({ echo: params }) });
    const connected = await client(path);
    const slow = connected.request('first', null);
    expect(await connected.request('second', { a: ['ü', 1, null] })).toEqual({ echo: { a: ['ü', 1, null] } });
    first.resolve('late');
    expect(await slow).toBe('late');
  });

  test('that fail carry code, sentence and exit code', async () => {
    const path = await serve({
      known: async () => {
        throw new AppError('some-code', 'A sentence.', { exitCode: 78, facts: { a: 1 } });
      },
      unknown: async () => {
        throw new Error('odd');
      },
    });
    const connected = await client(path);
    expect(await failureOf(connected.request('known', null))).toMatchObject({
      code: 'some-code',
      message: 'A sentence.',
      exitCode: 78,
      facts: { a: 1 },
    });
    expect((await failureOf(connected.request('unknown', null))).message).toBe('odd');
    expect((await failureOf(connected.request('toString', null))).message).toContain(
      'does not know the request "toString"',
    );
  });

  test('are aborted by their client, and still say how they ended', async () => {
    const path = await serve({ wait: (_, { signal }) => aborted(signal).then(() => 'stopped') });
    const connected = await client(path);
    const controller = new AbortController();
    const waiting = connected.request('wait', null, { signal: controller.signal });
    controller.abort();
    expect(await waiting).toBe('stopped');
    expect(await connected.request('wait', null, { signal: AbortSignal.abort() })).toBe('stopped');
  });

  test('are aborted when their client goes away', async () => {
    const state = { started: 0, aborted: 0 };
    const path = await serve({
      wait: async (_, { signal }) => {
        state.started += 1;
        await aborted(signal);
        state.aborted += 1;
      },
    });
    const connected = await client(path);
    const waiting = failureOf(connected.request('wait', null));
    await waitFor(() => state.started === 1);
    connected.close();
    await waitFor(() => state.aborted === 1);
    expect((await waiting).code).toBe('connection-lost');
  });

  test('stream events in order before their result', async () => {
    const path = await serve({
      count: async (_, { emit }) => {
        for (let i = 0; i < 500; i += 1) emit(i);
        return 'done';
      },
    });
    const seen: unknown[] = [];
    expect(await (await client(path)).request('count', null, { onEvent: (event) => seen.push(event) })).toBe('done');
    expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => i));
  });

  test('take texts of some megabytes, cut anywhere', async () => {
    const path = await serve({ echo: async (params) => params });
    const text = 'grüße 👋 '.repeat(200_000);
    expect(await (await client(path)).request('echo', text)).toBe(text);
  });
});

describe('questions', () => {
  test('go to the client and come back', async () => {
    const path = await serve({
      ask: async (_, { ask, signal }) => [await ask('one?', signal), await ask('two?', signal)],
    });
    const answers = await (
      await client(path)
    ).request('ask', null, { onQuestion: async (question) => `${String(question)}!` });
    expect(answers).toEqual(['one?!', 'two?!']);
  });

  test('that are not needed any more are withdrawn', async () => {
    const withdraw = new AbortController();
    const path = await serve({ ask: async (_, { ask }) => ask('one?', withdraw.signal).catch(() => 'withdrawn') });
    const asked = Promise.withResolvers<AbortSignal>();
    const result = (await client(path)).request('ask', null, {
      onQuestion: async (_, signal) => {
        asked.resolve(signal);
        await aborted(signal);
      },
    });
    const signal = await asked.promise;
    withdraw.abort();
    expect(await result).toBe('withdrawn');
    await waitFor(() => signal.aborted);
  });

  test('that the client cannot answer come back as null', async () => {
    const path = await serve({ ask: async (_, { ask, signal }) => ({ answer: await ask('?', signal) }) });
    const connected = await client(path);
    expect(await connected.request('ask', null)).toEqual({ answer: null });
    const onQuestion = async (): Promise<never> => {
      throw new Error('gone');
    };
    expect(await connected.request('ask', null, { onQuestion })).toEqual({ answer: null });
  });
});

describe('a client that misbehaves', () => {
  test('is closed when it writes something else than requests', async () => {
    const socket = await raw(await serve({}));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume().write('GET / HTTP/1.1\r\n\r\n');
    await closed;
  });

  test('is closed when its line does not end', async () => {
    const socket = await raw(await serve({}));
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.resume().write('x'.repeat(5_000_000));
    await closed;
  });

  test('is closed once when it leaves more than a megabyte unread, others are not', async () => {
    const state = { aborted: false };
    const log = recordingLog();
    const path = await serve(
      {
        flood: async (_, { emit, signal }) => {
          // Far more than a client may leave unread, and less than would end this process.
          for (let round = 0; round < 50 && !signal.aborted; round += 1) {
            for (let n = 0; n < 10; n += 1) emit('x'.repeat(100_000));
            await new Promise((resolve) => setImmediate(resolve));
          }
          state.aborted = signal.aborted;
        },
        ping: async () => 'pong',
      },
      { log },
    );
    const other = await client(path);
    const socket = await raw(path);
    socket.write('{"id":1,"method":"flood","params":null}\n');
    socket.pause();
    await waitFor(() => state.aborted);
    expect(await other.request('ping', null)).toBe('pong');
    expect(log.lines.map(({ message }) => message)).toEqual(['control: closed a client that does not read']);
  });

  test('gets only the newest of events that replace each other', async () => {
    const state = { done: false };
    const path = await serve({
      live: async (_, { emit }) => {
        for (let i = 0; i < 2_000; i += 1) emit({ i, padding: 'x'.repeat(2_000) }, 'text');
        state.done = true;
        return 'end';
      },
    });
    const socket = await raw(path);
    socket.write('{"id":1,"method":"live","params":null}\n');
    socket.pause();
    await waitFor(() => state.done);
    let text = '';
    socket.on('data', (chunk) => {
      text += String(chunk);
    });
    socket.resume();
    await waitFor(() => text.includes('"result":"end"'));
    const events = [...text.matchAll(/"i":(?<i>\d+)/gu)].map((match) => Number(match.groups?.['i']));
    expect(events.at(-1)).toBe(1_999);
    expect(events.length).toBeLessThan(1_000);
  });
});

describe('an assistant behind the socket', () => {
  test('tells about itself and its tools and runs them', async () => {
    const remote = await remoteOf(new FakeAssistant());
    expect(await remote.call('info', {})).toEqual(INFO);
    expect((await remote.call('toolsList', {})).map(({ name }) => name)).toEqual(['exec', 'read_file']);
    expect(await remote.call('toolRun', { name: 'read_file', arguments: '{"path":"a"}', dryRun: false })).toMatchObject(
      {
        decision: 'allow',
        result: { output: '{"path":"a"}' },
      },
    );
  });

  test('answers with live events', async () => {
    const assistant = new FakeAssistant();
    assistant.script = async (input, { onEvent }) => {
      onEvent?.(textEvent('Hel'));
      onEvent?.(textEvent('Hello'));
      return summaryOf(`Hello, ${input.model ?? ''} ${input.images?.join() ?? ''}`);
    };
    const remote = await remoteOf(assistant);
    const texts: string[] = [];
    const summary = await say(
      remote,
      { text: 'hi', model: 'a/b', images: ['/x.png'] },
      { onEvent: (event) => texts.push(event.type === 'text' ? event.text : event.type) },
    );
    expect(summary).toEqual(summaryOf('Hello, a/b /x.png'));
    expect(texts).toEqual(['Hel', 'Hello']);
    expect(assistant.heard).toEqual([{ session: 'main', text: 'hi', model: 'a/b', images: ['/x.png'] }]);
  });

  test.each([true, false, 'always' as const, { reason: 'later' }])(
    'asks the person at the other end: %j',
    async (approved) => {
      const assistant = new FakeAssistant();
      assistant.script = async (_, { onApproval }) =>
        summaryOf(JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal)));
      const remote = await remoteOf(assistant);
      const asked: unknown[] = [];
      const summary = await say(remote, 'hi', {
        onApproval: async (question) => {
          asked.push(question);
          return approved;
        },
      });
      expect(asked).toEqual([QUESTION]);
      expect(summary.text).toBe(JSON.stringify(approved));
    },
  );

  test('knows when no one can be asked', async () => {
    const assistant = new FakeAssistant();
    assistant.script = async (_, { onApproval }) => summaryOf(onApproval === undefined ? 'nobody' : 'somebody');
    const remote = await remoteOf(assistant);
    expect((await say(remote, 'hi')).text).toBe('nobody');
  });

  test('stops a turn when the signal aborts', async () => {
    const assistant = new FakeAssistant();
    const started = Promise.withResolvers<void>();
    assistant.script = async (_, { signal }) => {
      started.resolve();
      await aborted(signal);
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    const remote = await remoteOf(assistant);
    const controller = new AbortController();
    const answer = say(remote, 'hi', { signal: controller.signal });
    await started.promise;
    controller.abort();
    expect((await answer).outcome).toBe('stopped');
  });

  test('passes on what arrives in a session until nobody follows it any more', async () => {
    const assistant = new FakeAssistant();
    const remote = await remoteOf(assistant);
    const texts: string[] = [];
    const opened = remote.open('main', { onMessage: (message) => texts.push(message.text) });
    await waitFor(() => assistant.listeners('main') === 1);
    assistant.tell('main', 'reminder');
    assistant.tell('other', 'not for you');
    await waitFor(() => texts.length === 1);
    opened[Symbol.dispose]();
    await waitFor(() => assistant.listeners('main') === 0);
    expect(texts).toEqual(['reminder']);
  });

  test('refuses a request that is not one', async () => {
    const path = socketPath();
    const server = await startControlServer({ path, version: '1', assistant: new FakeAssistant(), log: silentLog });
    onTestFinished(() => server[Symbol.asyncDispose]());
    expect((await failureOf((await client(path)).request('say', { text: 5 }))).code).toBe('request-failed');
  });
});
