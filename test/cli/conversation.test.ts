import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/core/util/errors.ts';
import { aborted, QUESTION, statusEvent, summaryOf, textEvent, toolEnd, toolEvent } from '../gateway/fake-assistant.ts';
import { waitFor } from '../support/wait.ts';
import { converse, CTRL_C, CTRL_D, leave } from './conversation.ts';

describe('a conversation', () => {
  test('greets, answers and ends with Ctrl-D', async () => {
    const { line, ended } = await converse(['--session', 'work']);
    await line.shows('Talking with demo/scripted in this terminal, conversation "work".');
    line.type('hello\r');
    await line.shows('you › hello\nYou said: hello\n\nyou ›');
    line.type(CTRL_D);
    expect(await ended).toBe(0);
    expect(line.assistant.disposed).toBe(1);
  });

  test('ends with /exit', async () => {
    const { line, ended } = await converse();
    line.type('/exit\r');
    expect(await ended).toBe(0);
  });

  test('/help is followed by what this terminal can do', async () => {
    const { line, ended } = await converse();
    line.type('/help\r');
    await line.shows('You said: /help');
    await line.shows('• /exit, Ctrl-D or Ctrl-C twice end the conversation');
    await leave(line, ended);
  });

  test('shows messages that come by themselves, above what is being typed', async () => {
    const { line, ended } = await converse();
    line.type('half a sen');
    await line.shows('you › half a sen');
    line.assistant.tell('main', 'Time for **tea**.');
    await line.shows('Time for tea.\n\nyou › half a sen');
    line.type('tence\r');
    await line.shows('You said: half a sentence');
    await leave(line, ended);
  });

  test('says who sent what comes by itself, and shows it as often as it comes', async () => {
    const { line, ended } = await converse();
    line.type('half a sen');
    await line.shows('you › half a sen');
    const told = '  From the reminder tea:\nDrink tea.\n\n';
    for (let n = 0; n < 2; n += 1) line.assistant.tell('main', 'Drink **tea**.', { from: 'the reminder tea' });
    await line.shows(`${told}${told}you › half a sen`);
    line.assistant.tell('main', 'All is well.', { turnId: 't9', from: 'the heartbeat' });
    await line.shows('  From the heartbeat:\nAll is well.\n\nyou › half a sen');
    line.type(CTRL_C);
    await leave(line, ended);
  });

  test('a turn that several messages wait for is shown once', async () => {
    const { line, ended } = await converse();
    const events = [textEvent('Let me look.'), toolEvent('tool-start', 'exec date'), toolEnd('ran date')];
    const joined = Promise.withResolvers<void>();
    line.assistant.script = async (_, { onEvent }) => {
      if (line.assistant.heard.length === 2) joined.resolve();
      await joined.promise;
      for (const event of events) onEvent?.(event);
      return summaryOf('Saturday.');
    };
    line.type('day?\r');
    await waitFor(() => line.assistant.heard.length === 1);
    line.type('please\r');
    await line.shows(/you › please\nLet me look\.\n {2}✓ ran date\n\nSaturday\.\n\nyou ›$/u);
    await leave(line, ended);
  });

  test('what the assistant waits for is said while it waits, and leaves no line', async () => {
    const { line, ended } = await converse();
    const [tried, done] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(statusEvent('demo allows no more requests for now; trying again in 2 s'));
      await tried.promise;
      onEvent?.(textEvent('It'));
      await done.promise;
      return summaryOf('It works.');
    };
    line.type('go\r');
    await line.shows(/^ {2}\S demo allows no more requests for now; trying again in 2 s · \d\.\d s\n\nyou ›$/mu);
    tried.resolve();
    await line.shows(/you › go\nIt\n\nyou ›$/u);
    done.resolve();
    await line.shows(/you › go\nIt works\.\n\nyou ›$/u);
    await leave(line, ended);
  });

  test('shows the same answer again when it is asked again', async () => {
    const { line, ended } = await converse();
    line.type('x\r');
    await line.shows(/You said: x\n\nyou ›$/u);
    line.type('x\r');
    await line.shows(/(?:You said: x[^]*){2}you ›$/u);
    await leave(line, ended);
  });

  test('streams the answer and does not show it twice', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(textEvent('Let me look.'));
      onEvent?.(toolEvent('tool-start', 'exec date'));
      onEvent?.(toolEnd('exec date', { isError: true, problem: 'exit code 1' }));
      onEvent?.(textEvent('It is'));
      onEvent?.(textEvent('It is Sat'));
      line.assistant.tell('main', 'It is Saturday.', { turnId: 't1' });
      return summaryOf('It is Saturday.');
    };
    line.type('day?\r');
    await line.shows('you › day?\nLet me look.\n  ✗ exec date: exit code 1\n\nIt is Saturday.\n\nyou ›');
    expect((await line.screen.text()).match(/Saturday/gu)).toHaveLength(1);
    await leave(line, ended);
  });

  test('a block that is complete is written once; only the open one is written again', async () => {
    const { line, ended } = await converse();
    const release = Promise.withResolvers<void>();
    let told = 'First paragraph.\n\nSecond';
    line.assistant.script = async (_, { onEvent }) => {
      for (let n = 0; n < 20; n += 1) {
        onEvent?.(textEvent((told += ' word')));
        await delay(40);
      }
      await release.promise;
      return summaryOf(told);
    };
    line.type('go\r');
    await line.shows(/Second(?:\s+word){20}/u);
    expect(line.out.match(/First paragraph/gu)).toHaveLength(1);
    expect(line.out.match(/Second/gu)?.length).toBeGreaterThan(2);
    release.resolve();
    await leave(line, ended);
  });

  test('what is typed while text streams stands apart from it', async () => {
    const { line, ended } = await converse();
    const release = Promise.withResolvers<void>();
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(textEvent('one two'));
      await line.shows('you › more');
      onEvent?.(textEvent('one two three'));
      await release.promise;
      return summaryOf('one two three four');
    };
    line.type('go\r');
    await line.shows('one two\n\nyou ›');
    line.type('more');
    await line.shows('one two three\n\nyou › more');
    release.resolve();
    await line.shows('one two three four\n\nyou › more');
    line.type(CTRL_C);
    await leave(line, ended);
  });

  test('while nothing is said, a sign and the seconds tell that it works', async () => {
    const { line, ended } = await converse();
    const [thought, ran] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    line.assistant.script = async (_, { onEvent }) => {
      await thought.promise;
      onEvent?.(toolEvent('tool-start', 'exec make'));
      await ran.promise;
      onEvent?.(toolEnd('ran make'));
      return summaryOf('Done.');
    };
    line.type('build\r');
    await line.shows(/^ {2}\S thinking · \d\.\d s$/mu);
    thought.resolve();
    await line.shows(/^ {2}\S exec make · \d\.\d s$/mu);
    ran.resolve();
    await line.shows(/^ {2}✓ ran make(?: · \d\.\d s)?\n\nDone\.\n\nyou ›$/mu);
    expect(await line.screen.text()).not.toContain('thinking');
    await leave(line, ended);
  });

  test('an edit shows which lines changed, and of many the first', async () => {
    const { line, ended } = await converse();
    line.env = {};
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(toolEnd('edited a.md', { diff: '− hello\n+ goodbye' }));
      const many = Array.from({ length: 30 }, (_each, n) => `+ line ${n}`).join('\n');
      onEvent?.(toolEnd('edited b.md', { diff: many }));
      return summaryOf('Done.');
    };
    line.type('edit\r');
    await line.shows('  ✓ edited a.md\n    − hello\n    + goodbye\n  ✓ edited b.md\n    + line 0');
    await line.shows('    + line 11\n    … 18 lines more\n\nDone.');
    await leave(line, ended);
  });

  test('cannot be driven by what a model writes, entities included', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async () =>
      summaryOf(
        'a\u001B]52;c;eA==\u0007b\u009B2J &#27;[2J&#13;over &#x202e;evil `x\u001B[31m` [l](https://a.b/\u001B[2J)',
      );
    line.type('hello\r');
    await line.shows('a]52;c;eA==b2J �[2Jover \\u{202e}evil `x[31m`');
    // oxlint-disable-next-line no-control-regex
    expect(line.out).not.toMatch(/\u001B\[2J|\u001B\]52|\u009B/u);
    await leave(line, ended);
  });

  test.each([60, 200])('fits %i columns', async (columns) => {
    const { line, ended } = await converse([], { columns });
    const cell = 'a cell with many words '.repeat(6).trim();
    line.assistant.script = async () =>
      summaryOf(
        `${'word '.repeat(100)}\n\n| a | b |\n|---|---|\n| ${cell} | ${cell} |\n\n    ${'x'.repeat(150)}\n\nend`,
      );
    line.type('long\r');
    await line.shows(/^end$/mu);
    const lines = await line.screen.lines();
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(Math.min(columns, 120));
    // Words are whole.
    expect(lines.filter((each) => /^word\b/u.test(each)).every((each) => /^word(?: word)*$/u.test(each))).toBe(true);
    await leave(line, ended);
  });

  test('a terminal that changes its size in the middle of an answer shows it once', async () => {
    const { line, ended } = await converse([], { columns: 100, rows: 30 });
    const release = Promise.withResolvers<void>();
    const text = Array.from({ length: 40 }, (_, n) => `word${n}`).join(' ');
    line.assistant.script = async (_, { onEvent }) => {
      onEvent?.(textEvent(`Begin.\n\n${text}`));
      await release.promise;
      onEvent?.(textEvent(`Begin.\n\n${text} last`));
      return summaryOf(`Begin.\n\n${text} last`);
    };
    line.type('go\r');
    await line.shows('word39');
    line.screen.resize(50, 20);
    line.type('typed');
    await line.shows('you › typed');
    line.screen.resize(80, 30);
    release.resolve();
    await line.shows(/word39 last\n\nyou › typed/u);
    const shown = await line.screen.text();
    for (const word of ['Begin.', 'word0 ', 'word20 ', 'word39']) expect(shown.split(word)).toHaveLength(2);
    line.type(CTRL_C);
    await leave(line, ended);
  });

  test('an answer longer than the screen is whole in the end', async () => {
    const { line, ended } = await converse([], { columns: 80, rows: 12 });
    const code = Array.from({ length: 60 }, (_, n) => `line ${n};`);
    line.assistant.script = async (_, { onEvent }) => {
      for (let n = 1; n <= code.length; n += 1) {
        onEvent?.(textEvent(`\`\`\`c\n${code.slice(0, n).join('\n')}`));
        if (n % 20 === 0) await delay(50);
      }
      return summaryOf(`\`\`\`c\n${code.join('\n')}\n\`\`\``);
    };
    line.type('code\r');
    await line.shows(/line 59;\n\nyou ›$/u);
    expect((await line.screen.lines()).filter((each) => each.startsWith('  line'))).toEqual(
      code.map((each) => `  ${each}`),
    );
    await leave(line, ended);
  });

  test('ends when the assistant is gone for good', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async () => {
      throw new AppError('connection-lost', 'The assistant is stopping. It continues with this when it runs again.');
    };
    line.type('hello\r');
    expect(await ended).toBe(1);
    expect(await line.screen.text()).toContain('The assistant is stopping.');
  });

  test('ends with SIGTERM', async () => {
    const { line, ended } = await converse();
    line.signal('SIGTERM');
    expect(await ended).toBe(0);
  });
});

describe('Ctrl-C', () => {
  test('at an empty prompt says how to end, and ends when it comes again', async () => {
    const { line, ended } = await converse();
    line.type(CTRL_C);
    await line.shows('Ctrl-C again ends the conversation');
    line.type(CTRL_C);
    expect(await ended).toBe(0);
  });

  test('takes back a half-written line', async () => {
    const { line, ended } = await converse();
    line.type('half');
    await line.shows('half');
    line.type(CTRL_C);
    line.type('whole\r');
    await line.shows('You said: whole');
    expect(line.assistant.heard.map(({ text }) => text)).toEqual(['whole']);
    await leave(line, ended);
  });

  test('stops a running turn and goes on', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async (_, { signal }) => {
      await aborted(signal);
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    line.type('long\r');
    await waitFor(() => line.assistant.heard.length === 1);
    line.type(CTRL_C);
    await line.shows('stopping; Ctrl-C again ends the conversation\nStopped.');
    line.assistant.script = async () => summaryOf('Still here.');
    line.type('hello?\r');
    await line.shows('Still here.');
    await leave(line, ended);
  });

  test('with a message that waits says in one line what was stopped and dropped', async () => {
    const { line, ended } = await converse();
    const dropped = Promise.withResolvers<void>();
    const stopped = (text: string): ReturnType<typeof summaryOf> =>
      summaryOf(text, { outcome: 'stopped', isError: true });
    line.assistant.script = async ({ text }, { signal }) => {
      await (text === 'long' ? aborted(signal) : dropped.promise);
      if (text !== 'long') return stopped('Dropped by /stop.');
      dropped.resolve();
      line.assistant.tell('main', 'Stopped; dropped 1 waiting message.', { turnId: 't1' });
      return stopped('Stopped.');
    };
    line.type('long\r');
    line.type('and this\r');
    await waitFor(() => line.assistant.heard.length === 2);
    line.type(CTRL_C);
    await line.shows('stopping; Ctrl-C again ends the conversation\nStopped; dropped 1 waiting message.\n\nyou ›');
    await leave(line, ended);
  });

  test('at a question stops the turn, which says so below what it still shows', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async (_, { signal, onApproval, onEvent }) => {
      onEvent?.(toolEvent('tool-start', 'exec rm -r build'));
      const answer = await onApproval?.(QUESTION, signal ?? new AbortController().signal);
      line.assistant.tell('main', 'Stopped.', { turnId: 't1' });
      onEvent?.(toolEnd(`exec rm -r build: ${String(answer === false)}`));
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    line.type('clean up\r');
    await line.shows('Allow it? [y/N]');
    line.type(CTRL_C);
    await line.shows('stopping; Ctrl-C again ends the conversation\n  ✓ exec rm -r build: true\n\nStopped.\n\nyou ›');
    await leave(line, ended);
  });
});

describe('a question', () => {
  test.each([
    ['y\r', 'true'],
    ['YES\r', 'true'],
    ['n\r', 'false'],
    ['\r', 'false'],
    ['not today\r', '{"reason":"not today"}'],
    ['always\r', '{"reason":"always"}'],
  ])('is asked before something runs: %j is %s', async (keys, expected) => {
    const { line, ended } = await converse();
    line.assistant.script = async (_, { onApproval }) => {
      const hidden = { ...QUESTION, detail: 'rm -r build\n\u202Ereversed\u200B\u00A0' };
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(hidden, new AbortController().signal))}`);
    };
    line.type('clean up\r');
    await line.shows('Allow it? [y/N]');
    await line.shows('Run a command: it deletes files\n  │ rm -r build\n  │ \\u{202e}reversed\\u{200b}\\u{a0}\n');
    line.type(keys);
    await line.shows(`answer ${expected}`);
    await leave(line, ended);
  });

  test('is wrapped between words, and its text below its bar', async () => {
    const { line, ended } = await converse([], { columns: 40 });
    line.assistant.script = async (_, { onApproval }) => {
      const long = { ...QUESTION, reason: 'it deletes files that cannot be had back', detail: 'rm '.repeat(20).trim() };
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(long, new AbortController().signal))}`);
    };
    line.type('clean up\r');
    await line.shows(
      '\n\nRun a command: it deletes files that\ncannot be had back\n  │ rm rm rm rm rm rm rm rm rm rm rm rm\n  │ rm rm rm rm rm rm rm rm\nAllow it? [y/N]',
    );
    line.type('n\r');
    await line.shows('answer false');
    await leave(line, ended);
  });

  test('offers to allow for good what can be', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async (_, { onApproval }) => {
      const lasting = { ...QUESTION, always: { program: ['/usr/bin/uptime'] } };
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(lasting, new AbortController().signal))}`);
    };
    line.type('how long\r');
    await line.shows('Allow it? [y/N/always]');
    line.type('always\r');
    await line.shows('answer "always"');
    await leave(line, ended);
  });

  test('is not answered by commands: they run, and it stays', async () => {
    const { line, ended } = await converse();
    const sent: string[] = [];
    line.assistant.script = async ({ text }, { onApproval }) => {
      sent.push(text);
      if (text.startsWith('/') || text.startsWith(',')) return summaryOf(`ran ${text}`);
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal))}`);
    };
    line.type('clean up\r');
    await line.shows('Allow it? [y/N]');
    for (const command of ['/status', '/stop', ',read_file notes.md']) {
      line.type(`${command}\r`);
      await line.shows(`ran ${command}\n  Still open: Run a command: rm -r build\nAllow it? [y/N]`);
    }
    line.type('y\r');
    await line.shows('answer true');
    expect(sent).toEqual(['clean up', '/status', '/stop', ',read_file notes.md']);
    await leave(line, ended);
  });

  test('takes other words for a no, which is said', async () => {
    const { line, ended } = await converse();
    line.assistant.script = async (_, { onApproval }) =>
      summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal))}`);
    line.type('clean up\r');
    await line.shows('Allow it? [y/N]');
    line.type('what does it do\r');
    await line.shows('answer {"reason":"what does it do"}');
    await line.shows('Not allowed: I took your message as the answer.\n');
    await leave(line, ended);
  });

  test('is not answered by what was being typed when it came, which is there again afterwards', async () => {
    const { line, ended } = await converse();
    const ask = Promise.withResolvers<void>();
    line.assistant.script = async (_, { onApproval }) => {
      await ask.promise;
      return summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, new AbortController().signal))}`);
    };
    line.type('clean up\r');
    await waitFor(() => line.assistant.heard.length === 1);
    line.type('yes and');
    await line.shows('you › yes and');
    ask.resolve();
    await line.shows(/Allow it\? \[y\/N\]$/u);
    line.type('n\r');
    await line.shows(/answer false\n\nyou › yes and$/u);
    line.type(CTRL_C);
    await leave(line, ended);
  });

  test('is taken back when it needs no answer any more', async () => {
    const { line, ended } = await converse();
    const withdraw = new AbortController();
    line.assistant.script = async (_, { onApproval }) =>
      summaryOf(`answer ${JSON.stringify(await onApproval?.(QUESTION, withdraw.signal))}`);
    line.type('clean up\r');
    await line.shows('Allow it? [y/N]');
    withdraw.abort();
    await line.shows('answer false');
    await line.shows('no answer is needed any more');
    await leave(line, ended);
  });
});

describe('lines only', () => {
  test.each([
    ['--plain', ['--plain'], {}],
    ['TERM=dumb', [], { TERM: 'dumb' }],
  ])('with %s no control sequence is written, and nothing twice', async (_, argv, env) => {
    const { line, ended } = await converse(argv, { env });
    line.assistant.script = async (_input, { onEvent }) => {
      onEvent?.(toolEvent('tool-start', 'exec date'));
      onEvent?.(toolEnd('ran date'));
      onEvent?.(textEvent('It is **Sat'));
      return summaryOf('It is **Saturday**.\n\n- `one`');
    };
    line.type('day?\n');
    await waitFor(() => line.out.endsWith('you › ') && line.out.includes('one'));
    expect(line.out).toMatch(/you › {3}· exec date\n {2}✓ ran date\n\nIt is Saturday\.\n\n• `one`\nyou › $/u);
    // oxlint-disable-next-line no-control-regex
    expect(line.out).not.toMatch(/[\u001B\r]/u);
    line.stdin.end();
    expect(await ended).toBe(0);
  });

  test('Ctrl-C, which is a signal there, stops the turn and not the conversation', async () => {
    const { line, ended } = await converse(['--plain']);
    line.assistant.script = async (_, { signal }) => {
      await aborted(signal);
      return summaryOf('Stopped.', { outcome: 'stopped', isError: true });
    };
    line.type('long\n');
    await waitFor(() => line.assistant.heard.length === 1);
    line.signal('SIGINT');
    await line.shows(/Stopped\.\nyou ›$/u);
    line.stdin.end();
    expect(await ended).toBe(0);
  });
});

test.each([
  [{ NO_COLOR: '1' }, /\u001B\[[\d;]*3[0-7]m/u, false],
  [{}, /\u001B\[[\d;]*3[0-7]m/u, true],
])('with %j colours are used: %s', async (env, colour, isColoured) => {
  const { line, ended } = await converse([], { env: { NO_COLOR: undefined, ...env } });
  line.assistant.script = async () => summaryOf('**bold** and `code`');
  line.type('x\r');
  await line.shows('bold and');
  expect(colour.test(line.out)).toBe(isColoured);
  await leave(line, ended);
});
