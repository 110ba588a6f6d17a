import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/core/util/clock.ts';
import { summaryOf } from '../gateway/fake-assistant.ts';
import { waitFor } from '../support/wait.ts';
import { Cut } from './cut-assistant.ts';
import { converse, CTRL_C, leave } from './conversation.ts';
import { CommandLine } from './command-line.ts';

const UP = '\u001B[A';
const CTRL_R = '\u0012';
const pasted = (text: string): string => `\u001B[200~${text}\u001B[201~`;

describe('what is typed', () => {
  test.each([
    ['Alt-Enter', '\u001B\r'],
    ['Ctrl-J', '\n'],
    ['a backslash at the end of the line', '\\\r'],
    ['Shift-Enter of terminals that tell it', '\u001B[13;2u'],
  ])('goes on in a new line with %s', async (_, keys) => {
    const { line, ended } = await converse();
    line.type('first');
    // What comes with the start is taken for typed ahead.
    await line.shows('first');
    await new Promise((resolve) => setTimeout(resolve, 110));
    line.type(`${keys}second`);
    await line.shows('you › first\n      second');
    line.type('\r');
    await waitFor(() => line.assistant.heard.length === 1);
    expect(line.assistant.heard[0]?.text).toBe('first\nsecond');
    await leave(line, ended);
  });

  test('fifty pasted lines are one message, shown as one sign', async () => {
    const { line, ended } = await converse();
    const fifty = Array.from({ length: 50 }, (_, n) => `line ${n}`).join('\r');
    line.type(`look: ${pasted(fifty)}`);
    await line.shows('you › look: [50 lines]');
    expect(line.assistant.heard).toEqual([]);
    line.type(' end\r');
    await waitFor(() => line.assistant.heard.length === 1);
    expect(line.assistant.heard[0]?.text).toBe(`look: ${fifty.replaceAll('\r', '\n')} end`);
    await leave(line, ended);
  });

  test('a few pasted lines are shown as they are, and sent with Enter', async () => {
    const { line, ended } = await converse();
    line.type(pasted('one\rtwo'));
    await line.shows('you › one\n      two');
    line.type('\r');
    await line.shows('You said: one\ntwo');
    expect(line.out).toContain('\u001B[?2004h');
    await leave(line, ended);
    expect(line.out.lastIndexOf('\u001B[?2004l')).toBeGreaterThan(line.out.lastIndexOf('\u001B[?2004h'));
  });

  test('a long line is wrapped, and the cursor is where the next character goes', async () => {
    const { line, ended } = await converse([], { columns: 40 });
    line.type('0123456789'.repeat(6));
    await line.shows('you › 012345678901234567890123456789012\n      345678901234567890123456789');
    line.type('世界');
    await line.shows('世界');
    expect(await line.screen.cursor()).toEqual({ line: '      345678901234567890123456789世界', column: 37 });
    line.type(CTRL_C);
    await leave(line, ended);
  });
});

test('Ctrl-Z gives the terminal back, and what was typed is there again afterwards', async () => {
  const line = new CommandLine({ terminal: true });
  // A process that is stopped has no timers.
  const held: (() => void)[] = [];
  line.clock = {
    ...systemClock,
    timer: (ms, run) => {
      if (ms !== 50) return systemClock.timer(ms, run);
      held.push(run);
      return { [Symbol.dispose]: () => {} };
    },
  };
  const ended = line.run('chat');
  await line.shows('you ›');
  const raw: boolean[] = [];
  Object.assign(line.stdin, { setRawMode: (isRaw: boolean) => raw.push(isRaw) });
  line.type('half');
  await line.shows('you › half');
  line.type('\u001A');
  await waitFor(() => line.suspensions === 1);
  expect(await line.screen.text()).not.toContain('half');
  expect(raw).toEqual([false]);
  expect(line.out.endsWith('\u001B[?2004l')).toBe(true);
  line.stdout.write('$ fg\n');
  line.goOn();
  await line.shows(/\$ fg\n\nyou › half$/u);
  expect(raw.at(-1)).toBe(true);
  expect(line.out.lastIndexOf('\u001B[?2004h')).toBeGreaterThan(line.out.lastIndexOf('\u001B[?2004l'));
  // Where nothing can be stopped it goes on by itself.
  line.type('\u001A');
  await waitFor(() => line.suspensions === 2);
  for (let run = held.pop(); run !== undefined; run = held.pop()) run();
  await line.shows(/you › half$/u);
  line.type(' a line\r');
  await line.shows('You said: half a line');
  await leave(line, ended);
});

test('Ctrl-L empties the screen around what is typed', async () => {
  const { line, ended } = await converse();
  line.type('half');
  await line.shows('you › half');
  line.type('\u000C');
  await line.shows(/^\nyou › half$/u);
  line.type(CTRL_C);
  await leave(line, ended);
});

describe('what was typed before', () => {
  test('is there again after a restart, with the arrow keys and in a search', async () => {
    const first = await converse();
    for (const text of ['buy milk', 'call Ann\u001B\rtomorrow']) {
      first.line.type(`${text}\r`);
      await first.line.shows(/you › [^]*You said: [^]*you ›$/u);
    }
    await waitFor(() => first.line.assistant.heard.length === 2);
    await leave(first.line, first.ended);
    const { line, ended } = await converse([], { home: first.line.home });
    line.type('draft');
    await line.shows('you › draft');
    line.type(UP);
    await line.shows('you › call Ann\n      tomorrow');
    line.type(UP + UP);
    await line.shows(/you › buy milk$/u);
    line.type('\u001B[B\u001B[B\u001B[B');
    await line.shows(/you › draft$/u);
    line.type(`${CTRL_C}${CTRL_R}MIL`);
    await line.shows('history: MIL › buy milk');
    line.type('\r');
    await line.shows('You said: buy milk');
    await leave(line, ended);
  });

  test('is kept for its owner alone, and without secrets', async () => {
    const home = new CommandLine().home;
    writeFileSync(
      join(home, 'config.json'),
      '{"providers":{"demo":{}},"channels":{"telegram":{"token":"123456:abcdefghijklmnop","enabled":false}}}',
    );
    const { line, ended } = await converse([], { home });
    const typed = [
      'hello',
      'my key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789',
      'and 123456:abcdefghijklmnop',
      ' private',
    ];
    for (const [n, text] of typed.entries()) {
      line.type(`${text}\r`);
      await waitFor(() => line.assistant.heard.length === n + 1);
    }
    await leave(line, ended);
    const path = join(home, 'terminal-history.jsonl');
    expect(readFileSync(path, 'utf8')).toBe('"hello"\n');
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });
});

describe('Tab', () => {
  test('completes commands, those of the assistant and those of the terminal', async () => {
    const { line, ended } = await converse();
    line.assistant.answers = {
      commands: async () => ['status', 'stop', 'help'].map((name) => ({ name, description: '' })),
    };
    line.type('/sta\t');
    await line.shows(/you › \/status$/u);
    line.type(`${CTRL_C}/s\t`);
    await line.shows('ends.\n\n  /setup  /status  /stop\nyou › /s');
    line.type('to');
    await line.shows(/ends\.\n\nyou › \/sto$/u);
    expect(await line.screen.text()).not.toContain('/setup');
    line.type(`${CTRL_C}/ex\t\r`);
    expect(await ended).toBe(0);
  });

  test('completes the names of files in the workspace, and of no others', async () => {
    const home = new CommandLine().home;
    mkdirSync(join(home, 'workspace/notes'), { recursive: true });
    writeFileSync(join(home, 'workspace/notes/shopping list.md'), '');
    writeFileSync(join(home, 'workspace/notes/shopping.md'), '');
    writeFileSync(join(home, 'secret.txt'), '');
    const { line, ended } = await converse([], { home });
    line.type('read no\t');
    await line.shows(/you › read notes\/$/u);
    line.type('sh\t');
    await line.shows(/you › read notes\/shopping\.md$/u);
    line.type(` ../sec\t.`);
    await line.shows(/shopping\.md \.\.\/sec\.$/u);
    line.type(CTRL_C);
    await leave(line, ended);
  });
});

describe('a conversation with a running gateway that goes away', () => {
  test('says so, keeps what is typed and what was sent, and goes on when it is back', async () => {
    const [first, second] = [new Cut(), new Cut()];
    let now: Cut | undefined = first;
    const line = new CommandLine({ terminal: true });
    line.connect = async () => now;
    const ended = line.run('chat');
    await line.shows('in the running gateway');
    line.type('half a sen');
    await line.shows('you › half a sen');
    now = undefined;
    first.cut();
    await line.shows(
      '  The running assistant is gone. I keep trying to reach it; what you send meanwhile waits.\n\nyou › half a sen',
    );
    line.type('tence\rnext');
    await line.shows(/waiting for the assistant · \d\.\d s\n\nyou › next$/u);
    now = second;
    await line.shows('The assistant is back.');
    await line.shows(/You said: half a sentence\n\nyou › next$/u);
    expect(second.heard.map(({ text }) => text)).toEqual(['half a sentence']);
    line.type(CTRL_C);
    await leave(line, ended);
  });

  test('gives a message back that was taken back before it could be sent', async () => {
    const first = new Cut();
    let now: Cut | undefined = first;
    const line = new CommandLine({ terminal: true });
    line.connect = async () => now;
    const ended = line.run('chat');
    await line.shows('you ›');
    now = undefined;
    first.cut();
    await line.shows('The running assistant is gone.');
    line.type('buy milk\r');
    await line.shows('you › buy milk\n');
    line.type(CTRL_C);
    await line.shows(/stopping[^\n]*\n\nyou › buy milk$/u);
    line.type('\r');
    await line.shows(/(?:you › buy milk[^]*){2}you ›$/u);
    line.type('\u0004');
    await ended;
    expect(await line.screen.text()).toContain('Not sent: buy milk');
  });
});

test('a conversation without a script that answers keeps its input usable', async () => {
  const { line, ended } = await converse();
  const release = Promise.withResolvers<void>();
  line.assistant.script = async () => {
    await release.promise;
    return summaryOf('late');
  };
  line.type('hang\r');
  await line.shows(/thinking · \d/u);
  line.type('more');
  await line.shows(/thinking[^\n]*\n\nyou › more$/u);
  release.resolve();
  await line.shows(/late\n\nyou › more$/u);
  line.type(CTRL_C);
  await leave(line, ended);
});
