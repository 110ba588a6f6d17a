import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aborted, summaryOf, textEvent, toolEnd, toolEvent } from '../gateway/fake-assistant.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { waitFor } from '../support/wait.ts';
import { CommandLine } from './command-line.ts';
import { VirtualScreen } from './virtual-screen.ts';

describe('one message', () => {
  test('gives its answer on stdout', async () => {
    const line = new CommandLine();
    expect(await line.run('chat', '-m', 'hello')).toBe(0);
    expect(line.out).toBe('You said: hello\n');
    expect(line.err).toBe('');
    expect(line.assistant.heard).toEqual([{ session: 'main', text: 'hello' }]);
    expect(line.started).toMatchObject([{ serve: 'local', config: { log: { level: 'warn' } } }]);
    expect(line.assistant.disposed).toBe(1);
  });

  test('goes to the gateway that runs', async () => {
    const line = new CommandLine();
    line.running = true;
    expect(await line.run('chat', '-m', 'hello')).toBe(0);
    expect(line.started).toEqual([]);
    expect(line.out).toBe('You said: hello\n');
  });

  test('can be read from stdin', async () => {
    const line = new CommandLine();
    line.stdin.end('two\nlines\n');
    expect(await line.run('chat', '-m', '-')).toBe(0);
    expect(line.assistant.heard[0]?.text).toBe('two\nlines');
  });

  test('takes a model, a session and images', async () => {
    const line = new CommandLine();
    const image = join(line.home, 'a.png');
    writeFileSync(image, 'x');
    await line.run('chat', '-m', '-dashes', '--model', 'a/b', '--session', 'work', '--image', image, '--image', image);
    expect(line.assistant.heard).toEqual([{ session: 'work', text: '-dashes', model: 'a/b', images: [image, image] }]);
  });

  test('with an image that is not there is refused before anything starts', async () => {
    const line = new CommandLine();
    expect(await line.run('chat', '-m', 'hi', '--image', '/nowhere.png')).toBe(2);
    expect(line.err).toBe(
      'There is no image at /nowhere.png. Correct the path after --image. See npm run chat -- --help.\n',
    );
    expect(line.started).toEqual([]);
  });

  test('as JSON has text, usage, cost, time and model', async () => {
    const line = new CommandLine();
    expect(await line.run('chat', '-m', 'hello', '--json')).toBe(0);
    expect(JSON.parse(line.out)).toEqual({
      session: 'main',
      turnId: null,
      text: 'You said: hello',
      outcome: 'answered',
      isError: false,
      errorKind: null,
      toolCalls: [],
      usage: { input: 3, cached: 0, cacheWrite: 0, output: 2, reasoning: 0 },
      costUsd: null,
      durationMs: 5,
      model: 'demo/scripted',
    });
  });

  test('as JSON names the turn, its tool calls and the kind of an error', async () => {
    const line = new CommandLine();
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(toolEnd('date', { callId: 'c1' }));
      onEvent?.(toolEnd('ls /x', { callId: 'c2', isError: true, problem: 'exit code 2' }));
      return summaryOf('The key was refused.', { outcome: 'failed', isError: true, errorKind: 'auth' });
    };
    expect(await line.run('chat', '-m', 'hello', '--json')).toBe(1);
    expect(JSON.parse(line.out)).toMatchObject({
      session: 'main',
      turnId: expect.stringMatching(/./u),
      outcome: 'failed',
      errorKind: 'auth',
      toolCalls: [
        { id: 'c1', name: 'exec', title: 'date', isError: false },
        { id: 'c2', name: 'exec', title: 'ls /x', isError: true, problem: 'exit code 2' },
      ],
    });
  });

  test('that fails ends with another exit code than 0', async () => {
    const line = new CommandLine();
    line.assistant.script = async () => summaryOf('The key was refused.', { outcome: 'failed', isError: true });
    expect(await line.run('chat', '-m', 'hello')).toBe(1);
    expect(line.out).toBe('The key was refused.\n');
    line.assistant.script = async () => {
      throw new AppError('connection-lost', 'The connection was lost.');
    };
    line.assistant.disposed = 0;
    expect(await line.run('chat', '-m', 'hello')).toBe(1);
    expect(line.err).toBe('The connection was lost.\n');
  });

  test('is stopped after its time', async () => {
    const line = new CommandLine();
    line.assistant.script = async (_, { signal }) => {
      await aborted(signal);
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    const said = 'Timed out: there was no answer within 0.05 seconds. A higher --timeout gives it longer.';
    expect(await line.run('chat', '-m', 'hello', '--timeout', '0.05')).toBe(1);
    expect([line.out, line.err]).toEqual([`${said}\n`, '']);
    line.out = '';
    line.assistant.disposed = 0;
    expect(await line.run('chat', '-m', 'hello', '--timeout', '0.05', '--json')).toBe(1);
    expect(JSON.parse(line.out)).toMatchObject({ text: said, isError: true });
  });

  test('in which something was refused says why on stderr, and ends with another exit code than 0', async () => {
    const refused = 'Refused: rm -rf / is refused in every mode.';
    const line = new CommandLine();
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.({
        ...toolEvent('tool-end', 'exec'),
        type: 'tool-end',
        callId: 'c',
        name: 'exec',
        title: 'exec',
        isError: true,
        refused,
      });
      return summaryOf('It was not done.');
    };
    expect(await line.run('chat', '-m', 'run it')).toBe(1);
    expect([line.out, line.err]).toEqual(['It was not done.\n', `✗ exec: ${refused}\n`]);
    const json = new CommandLine();
    json.assistant.script = line.assistant.script;
    expect(await json.run('chat', '-m', 'run it', '--json')).toBe(1);
    expect(JSON.parse(json.out)).toMatchObject({ isError: false, refused: [`exec: ${refused}`] });
  });

  test('is stopped by Ctrl-C', async () => {
    const line = new CommandLine();
    line.assistant.script = async (_, { signal }) => {
      line.signal('SIGINT');
      await aborted(signal);
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    expect(await line.run('chat', '-m', 'hello')).toBe(130);
  });

  test('shows on stderr what had waited for somebody to come', async () => {
    const line = new CommandLine();
    line.assistant.script = async (_, { onEvent }) => {
      line.assistant.tell('main', 'Drink tea.', { from: 'the reminder tea' });
      line.assistant.tell('main', 'A notice from before.');
      onEvent?.(textEvent('Hel'));
      line.assistant.tell('main', 'Hello, in full.', { turnId: 't1' });
      return summaryOf('Hello.');
    };
    expect(await line.run('chat', '-m', 'hello')).toBe(0);
    expect(line.out).toBe('Hello.\n');
    expect(line.err).toBe('(earlier, from the reminder tea) Drink tea.\n(earlier) A notice from before.\n');
  });

  test('cannot drive the terminal through its answer', async () => {
    const line = new CommandLine();
    line.assistant.script = async () => summaryOf('a\u001B]52;c;eA==\u0007b\u009B2J\tc\nd');
    await line.run('chat', '-m', 'hello');
    expect(line.out).toBe('a]52;c;eA==b2J\tc\nd\n');
  });
});

test('one message in a terminal shows what is done meanwhile, which then goes away, and the answer as Markdown', async () => {
  const line = new CommandLine({ terminal: true });
  const seen = new VirtualScreen(line.stderr, 80, 10);
  const done = Promise.withResolvers<void>();
  line.assistant.script = async (_, { onEvent }) => {
    onEvent?.(toolEvent('tool-start', 'exec make'));
    await done.promise;
    return summaryOf('It is **done**.');
  };
  const ended = line.run('chat', '-m', 'build');
  await waitFor(async () => /^ {2}\S exec make · \d\.\d s$/u.test(await seen.text()));
  done.resolve();
  expect(await ended).toBe(0);
  expect([await seen.text(), await line.screen.text()]).toEqual(['', 'It is done.']);
});

test('without a terminal each line of stdin is a message', async () => {
  const line = new CommandLine();
  line.stdin.end('one\n\ntwo\n');
  expect(await line.run('chat')).toBe(0);
  expect(line.out).toBe('You said: one\nYou said: two\n');
});
