import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aborted, QUESTION, summaryOf, textEvent, toolEvent } from '../gateway/fake-assistant.ts';
import { waitFor } from '../support/wait.ts';
import { AppError } from '../../src/util/errors.ts';
import { CommandLine } from './command-line.ts';

const CTRL_C = '\u0003';
const CTRL_D = '\u0004';

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
    expect(line.err).toBe('There is no image at /nowhere.png. Correct the path after --image.\n');
    expect(line.started).toEqual([]);
  });

  test('as JSON has text, usage, cost, time and model', async () => {
    const line = new CommandLine();
    expect(await line.run('chat', '-m', 'hello', '--json')).toBe(0);
    expect(JSON.parse(line.out)).toEqual({
      text: 'You said: hello',
      isError: false,
      usage: { input: 3, cached: 0, cacheWrite: 0, output: 2, reasoning: 0 },
      costUsd: null,
      durationMs: 5,
      model: 'demo/scripted',
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
        ...toolEvent('tool-end', 'exec', 1),
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
      line.assistant.tell('main', 'A reminder from before.');
      onEvent?.(textEvent('Hel', 1));
      line.assistant.tell('main', 'Hello, in full.', 't1');
      return summaryOf('Hello.');
    };
    expect(await line.run('chat', '-m', 'hello')).toBe(0);
    expect(line.out).toBe('Hello.\n');
    expect(line.err).toBe('(earlier) A reminder from before.\n');
  });

  test('cannot drive the terminal through its answer', async () => {
    const line = new CommandLine();
    line.assistant.script = async () => summaryOf('a\u001B]52;c;eA==\u0007b\u009B2J\tc\nd');
    await line.run('chat', '-m', 'hello');
    expect(line.out).toBe('a]52;c;eA==b2J\tc\nd\n');
  });
});

test('without a terminal each line of stdin is a message', async () => {
  const line = new CommandLine();
  line.stdin.end('one\n\ntwo\n');
  expect(await line.run('chat')).toBe(0);
  expect(line.out).toBe('You said: one\nYou said: two\n');
});

describe('a conversation', () => {
  async function begin(...argv: readonly string[]): Promise<{ line: CommandLine; ended: Promise<number> }> {
    const line = new CommandLine({ terminal: true });
    const ended = line.run('chat', ...argv);
    await waitFor(() => line.out.includes('you › '));
    return { line, ended };
  }

  test('greets, answers and ends with Ctrl-D', async () => {
    const { line, ended } = await begin('--session', 'work');
    expect(line.out).toContain('Talking with demo/scripted in this terminal, conversation "work".');
    line.type('hello\r');
    await waitFor(() => line.out.includes('You said: hello\n'));
    line.type(CTRL_D);
    expect(await ended).toBe(0);
    expect(line.assistant.disposed).toBe(1);
  });

  test.each(['/exit\r', CTRL_C])('ends with %j at an empty prompt', async (keys) => {
    const { line, ended } = await begin();
    line.type(keys);
    expect(await ended).toBe(0);
  });

  test('Ctrl-C takes back a half-written line', async () => {
    const { line, ended } = await begin();
    line.type('half');
    await waitFor(() => line.out.includes('half'));
    line.type(CTRL_C);
    line.type('whole\r');
    await waitFor(() => line.out.includes('You said: whole\n'));
    expect(line.assistant.heard.map(({ text }) => text)).toEqual(['whole']);
    line.type(CTRL_D);
    await ended;
  });

  test('streams the answer and does not show it twice', async () => {
    const { line, ended } = await begin();
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(textEvent('Let me look.', 1));
      onEvent?.(toolEvent('tool-start', 'exec date', 2));
      onEvent?.(toolEvent('tool-end', 'exec date', 3));
      onEvent?.(textEvent('It is', 4));
      onEvent?.(textEvent('It is Sat', 5));
      line.assistant.tell('main', 'It is Saturday.', 't1');
      return summaryOf('It is Saturday.');
    };
    line.type('day?\r');
    await waitFor(() => line.out.includes('Saturday.\n'));
    line.type(CTRL_D);
    await ended;
    expect(line.out).toContain('Let me look.\n  · exec date\n  ✗ exec date\nIt is Saturday.\n');
    expect(line.out.match(/Saturday/gu)).toHaveLength(1);
  });

  test('shows the same answer again when it is asked again', async () => {
    const { line, ended } = await begin();
    line.type('x\r');
    await waitFor(() => line.out.match(/You said: x\n/gu)?.length === 1);
    line.type('x\r');
    await waitFor(() => line.out.match(/You said: x\n/gu)?.length === 2);
    line.type(CTRL_D);
    await ended;
  });

  test('shows messages that come by themselves', async () => {
    const { line, ended } = await begin();
    line.assistant.tell('main', 'Time for tea.');
    await waitFor(() => line.out.includes('Time for tea.\n'));
    line.type(CTRL_D);
    await ended;
  });

  test('Ctrl-C stops a running turn and goes on', async () => {
    const { line, ended } = await begin();
    line.assistant.script = async (_, { signal }) => {
      await aborted(signal);
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    line.type('long\r');
    await waitFor(() => line.assistant.heard.length === 1);
    line.type(CTRL_C);
    await waitFor(() => line.out.includes('Stopped.\n'));
    line.assistant.script = async () => summaryOf('Still here.');
    line.type('hello?\r');
    await waitFor(() => line.out.includes('Still here.\n'));
    line.type(CTRL_D);
    expect(await ended).toBe(0);
  });

  test.each([
    ['y\r', 'true'],
    ['YES\r', 'true'],
    ['n\r', 'false'],
    ['\r', 'false'],
    ['not today\r', '{"reason":"not today"}'],
    ['always\r', '{"reason":"always"}'],
    [CTRL_C, 'false'],
  ])('asks before something runs: %j is %s', async (keys, expected) => {
    const { line, ended } = await begin();
    line.assistant.script = async (_, { onApproval }) => {
      const hidden = { ...QUESTION, detail: 'rm -r build\n\u202Ereversed\u200B\u00A0' };
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(hidden, new AbortController().signal))}`);
    };
    line.type('clean up\r');
    await waitFor(() => line.out.includes('Allow it? [y/N]'));
    expect(line.out).toContain(
      'Run a command: it deletes files\n  │ rm -r build\n  │ \\u{202e}reversed\\u{200b}\\u{a0}\n',
    );
    line.type(keys);
    await waitFor(() => line.out.includes(`answer ${expected}`));
    line.type(CTRL_D);
    expect(await ended).toBe(0);
  });

  test('offers to allow for good what can be', async () => {
    const { line, ended } = await begin();
    line.assistant.script = async (_, { onApproval }) => {
      const lasting = { ...QUESTION, always: { program: ['/usr/bin/uptime'] } };
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(lasting, new AbortController().signal))}`);
    };
    line.type('how long\r');
    await waitFor(() => line.out.includes('Allow it? [y/N/always]'));
    line.type('always\r');
    await waitFor(() => line.out.includes('answer "always"'));
    line.type(CTRL_D);
    expect(await ended).toBe(0);
  });

  test('at a question commands are no answers: they run, and the question stays', async () => {
    const { line, ended } = await begin();
    const sent: string[] = [];
    line.assistant.script = async ({ text }, { onApproval }) => {
      sent.push(text);
      if (text.startsWith('/') || text.startsWith(',')) return summaryOf(`ran ${text}`);
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal))}`);
    };
    line.type('clean up\r');
    await waitFor(() => line.out.includes('Allow it? [y/N]'));
    for (const command of ['/status', '/stop', ',read_file notes.md']) {
      const prompts = line.out.split('Allow it? [y/N]').length;
      line.type(`${command}\r`);
      await waitFor(() => line.out.includes(`ran ${command}`));
      await waitFor(() => line.out.split('Allow it? [y/N]').length > prompts);
    }
    expect(line.out).not.toContain('answer');
    line.type('y\r');
    await waitFor(() => line.out.includes('answer true'));
    expect(sent).toEqual(['clean up', '/status', '/stop', ',read_file notes.md']);
    line.type(CTRL_D);
    expect(await ended).toBe(0);
  });

  test('at a question other words are a no, which is said', async () => {
    const { line, ended } = await begin();
    line.assistant.script = async (_, { onApproval }) =>
      summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal))}`);
    line.type('clean up\r');
    await waitFor(() => line.out.includes('Allow it? [y/N]'));
    line.type('what does it do\r');
    await waitFor(() => line.out.includes('answer {"reason":"what does it do"}'));
    expect(line.out).toContain('Not allowed: I took your message as the answer.\n');
    line.type(CTRL_D);
    expect(await ended).toBe(0);
  });

  test('takes a question back that needs no answer any more', async () => {
    const { line, ended } = await begin();
    const withdraw = new AbortController();
    line.assistant.script = async (_, { onApproval }) =>
      summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, withdraw.signal))}`);
    line.type('clean up\r');
    await waitFor(() => line.out.includes('Allow it? [y/N]'));
    withdraw.abort();
    await waitFor(() => line.out.includes('answer false'));
    expect(line.out).toContain('no answer is needed any more');
    line.type(CTRL_D);
    await ended;
  });

  test('ends when the gateway is gone', async () => {
    const { line, ended } = await begin();
    line.assistant.script = async () => {
      throw new AppError('connection-lost', 'The connection to the running assistant was lost.');
    };
    line.type('hello\r');
    expect(await ended).toBe(1);
    expect(line.out).toContain('The connection to the running assistant was lost.\n');
  });

  test('ends with SIGTERM', async () => {
    const { line, ended } = await begin();
    line.signal('SIGTERM');
    expect(await ended).toBe(0);
  });
});
