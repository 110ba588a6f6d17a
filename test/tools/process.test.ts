import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Marks } from '../../src/core/files/marks.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { systemClock, type Clock } from '../../src/core/util/clock.ts';
import { idOf, processWorld, type ProcessWorld } from '../support/process-world.ts';
import { running, sandboxWorld } from '../support/sandbox-world.ts';
import { describeWith } from '../support/test-with.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';
import { waitFor } from '../support/wait.ts';

let world: ProcessWorld;
beforeAll(async () => {
  world = await processWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** A number of seconds that no other process sleeps. */
let serial = 0;
const uniqueSleep = (): string => `4${process.pid}.${(serial += 1)}`;
/** A session of its own for each test. */
const session = (): Partial<TestCall> => ({ sessionKey: `test-${(serial += 1)}` });

const newsOf = (id: string): number => world.news.filter((told) => told.id === id).length;

/** Polls until it has ended. */
async function ended(id: string, context: Partial<TestCall>): Promise<ToolResult> {
  return await world.call({ action: 'poll', id, waitSeconds: 30 }, context);
}

/** Looks so many times longer at how a command begins: on a busy machine a program begins late. */
function patientWorld(times: number): Promise<ProcessWorld> {
  const clock: Clock = { ...systemClock, timer: (ms, ...rest) => systemClock.timer(times * ms, ...rest) };
  return processWorld({ exec: { clock } });
}

describe('starting in the background', () => {
  test('shows how it begins and where it is found', async () => {
    await using patient = await patientWorld(5);
    const here = session();
    const result = await patient.start('echo hello; sleep 30', {}, here);
    expect(result).toMatchObject({
      title: 'started echo hello; sleep 30',
      metadata: { state: 'running' },
      private: true,
    });
    expect(result.isError).toBeUndefined();
    expect(result.output).toMatch(/^hello\n\[It runs in the background as \w{8}\. You are told when it ends/u);
    await patient.call({ action: 'kill', id: idOf(result) }, here);
  });

  test('what ends at once is told at once, and nobody is woken', async () => {
    await using patient = await patientWorld(20);
    const result = await patient.start('echo oh; nosuchprogram-here', {}, session());
    expect(result).toMatchObject({ isError: true, metadata: { exitCode: 127 } });
    expect(result.output).toMatch(/^oh$/mu);
    expect(result.output).toMatch(/^\[stderr\]\n.*not found$/mu);
    expect(result.output).toMatch(/\n\[The command ended with exit code 127\.\]$/u);
    await waitFor(async () => !(await readdir(patient.records)).includes(`${idOf(result)}.json`));
    expect(patient.news).toEqual([]);
  });

  test('what cannot be started is an error', async () => {
    const environment = { PATH: '/usr/bin:/bin', LONG: 'x'.repeat(200_000) };
    await using own = await processWorld({ exec: { environment } });
    const result = await own.start('true', {}, session());
    expect(result).toMatchObject({ isError: true, output: expect.stringContaining('too long for the system') });
  });

  test('eight run in a session at most; others have eight of their own', async () => {
    const here = session();
    const context = testToolContext(here);
    const first = await world.start('sleep 30', {}, here);
    const process = world.processes.of(context.call.sessionKey)[0];
    if (process === undefined) throw new Error('nothing runs');
    for (let n = 1; n < 8; n += 1) await world.processes.begin(process.command, context, new AbortController().signal);
    const ninth = await world.start('sleep 30', {}, here);
    expect(ninth).toMatchObject({ isError: true, output: expect.stringContaining('8 commands run in the background') });
    expect(ninth.output).toContain(idOf(first));
    const list = await world.call({ action: 'list' }, here);
    expect(list.metadata).toMatchObject({ running: 8 });
    expect(list.output.split('\n')).toHaveLength(8);
    const there = session();
    const other = await world.start('sleep 30', {}, there);
    expect(other.isError).toBeUndefined();
    expect(await world.call({ action: 'poll', id: idOf(first) }, there)).toMatchObject({
      isError: true,
      output: `There is no command "${idOf(first)}" in the background here. There are: ${idOf(other)}.`,
    });
    await world.processes.stopSession(context.call.sessionKey);
    await world.call({ action: 'kill', id: idOf(other) }, there);
    expect(world.processes.running(context.call.sessionKey)).toBe(0);
  });

  test('is refused where nobody could be told of the end', async () => {
    await using alone = await processWorld({ processes: { reaches: () => false } });
    expect(await alone.start('sleep 30')).toMatchObject({
      isError: true,
      output: expect.stringContaining('no one could be told'),
    });
    const subagent = await world.start('sleep 30', {}, { origin: 'subagent' });
    expect(subagent).toMatchObject({ isError: true, output: expect.stringContaining('no one could be told') });
  });

  test('what wakes a session again and again is stopped until a person asks for something', async () => {
    await using chain = await processWorld();
    for (let n = 1; n <= 10; n += 1) {
      await chain.start('sleep 1.5', {}, { origin: 'system' });
      await waitFor(() => chain.news.length === n);
    }
    const refused = await chain.start('sleep 1.5', {}, { origin: 'system' });
    expect(refused).toMatchObject({ isError: true, output: expect.stringContaining('woke this session 10 times') });
    expect((await chain.start('sleep 1.5', {}, { origin: 'user' })).isError).toBeUndefined();
  });

  test('the time limit ends it, with a note', async () => {
    const here = session();
    const mark = uniqueSleep();
    const { metadata } = await world.start(`sleep ${mark}`, { timeoutSeconds: 1 }, here);
    const result = await ended(String(metadata['process']), here);
    expect(result).toMatchObject({ isError: true, output: expect.stringContaining('ended after 1 s, its time limit') });
    expect(running(mark)).toBe(0);
  });
});

describe('polling', () => {
  test('says of each part of the output that it is of stderr, once', async () => {
    await using patient = await patientWorld(20);
    const here = session();
    const script = 'echo out; sleep 0.2; printf end >&2; sleep 0.2; printf out; sleep 0.2; seq 10000 19999 >&2';
    const id = idOf(await patient.start(script, {}, here));
    const at = async (offset?: number): Promise<ToolResult> =>
      await patient.call({ action: 'poll', id, offset, waitSeconds: 30 }, here);
    const first = await at(0);
    expect(first.output).toMatch(/^out\n\[stderr\]\nend\n\[stdout\]\nout\n\[stderr\]\n10000\n/u);
    const second = await at();
    expect(second.output).toMatch(/^\[stderr\]\n1\d{4}\n/u);
    expect(second.output.match(/\[stderr\]/gu)).toHaveLength(1);
    expect((await at('out\n'.length)).output).toMatch(/^\[stderr\]\nend\n/u);
    expect((await at('out\n[stderr]\n'.length)).output).toMatch(/^\[stderr\]\nend\n\[stdout\]\n/u);
    expect((await at('out\n[stderr]\nend\n'.length)).output).toMatch(/^\[stdout\]\nout\n/u);
    expect((await at('out\n[stderr]\nend\n[stdout]\nout\n'.length)).output).toMatch(/^\[stderr\]\n10000\n/u);
  });

  test('goes on where it was, and again from wherever it is asked to', async () => {
    await using patient = await patientWorld(5);
    const here = session();
    const id = idOf(
      await patient.start('seq -w 1 20000; until test -e more; do sleep 0.02; done; echo more', {}, here),
    );
    const all = `${Array.from({ length: 20_000 }, (_, n) => String(n + 1).padStart(5, '0')).join('\n')}\n`;
    const first = await patient.call({ action: 'poll', id, offset: 0 }, here);
    const text = first.output.slice(0, first.output.indexOf('['));
    expect(all.startsWith(text)).toBe(true);
    expect(text.length).toBeGreaterThan(15_000);
    expect(text.endsWith('\n')).toBe(true);
    expect(first).toMatchObject({ metadata: { state: 'running', from: 0, next: text.length, truncated: true } });
    expect(first.output).toContain(
      `[${120_000 - text.length} more bytes of output follow: use the action poll again.]\n[The command is still running.]`,
    );
    const second = await patient.call({ action: 'poll', id }, here);
    expect(second.metadata['from']).toBe(text.length);
    expect(second.output.startsWith(all.slice(text.length, text.length + 1_000))).toBe(true);
    const last = await patient.call({ action: 'poll', id, offset: -12 }, here);
    expect(last.output).toBe('19999\n20000\n[The command is still running.]');
    await writeFile(join(patient.workspace, 'more'), '');
    expect((await patient.call({ action: 'poll', id, waitSeconds: 30 }, here)).output).toBe(
      'more\n[The command ended with exit code 0.]',
    );
    expect((await patient.call({ action: 'poll', id }, here)).output).toBe('[The command ended with exit code 0.]');
    expect((await patient.call({ action: 'poll', id, offset: 119_994 }, here)).output).toMatch(/^20000\nmore\n/u);
  });

  test('no character is torn between two answers', async () => {
    const here = session();
    const id = idOf(await world.start(`printf '\\xe2\\x82'; sleep 0.6; printf '\\xac\\xff!'; sleep 30`, {}, here));
    expect((await world.call({ action: 'poll', id, offset: 0 }, here)).output).toBe('[The command is still running.]');
    await waitFor(
      async () =>
        (await world.call({ action: 'poll', id, offset: 0 }, here)).output !== '[The command is still running.]',
    );
    expect((await world.call({ action: 'poll', id, offset: 0 }, here)).output).toBe(
      '€\uFFFD!\n[The command is still running.]',
    );
    expect((await world.call({ action: 'poll', id, offset: 1 }, here)).output).toBe(
      '\uFFFD!\n[The command is still running.]',
    );
    await world.call({ action: 'kill', id }, here);
  });

  test('a line that is not whole yet is shown: somebody may be asked something', async () => {
    await using patient = await patientWorld(5);
    const here = session();
    const id = idOf(await patient.start('echo Well; printf "Name? "; read -r name; echo "Hello $name"', {}, here));
    expect((await patient.call({ action: 'poll', id, offset: 0 }, here)).output).toBe(
      'Well\nName? \n[The command is still running.]',
    );
    await patient.call({ action: 'write', id, text: 'Ann' }, here);
    expect((await patient.call({ action: 'poll', id, waitSeconds: 30 }, here)).output).toBe(
      'Hello Ann\n[The command ended with exit code 0.]',
    );
  });

  test('binary output is readable, and a page of it is no longer than another', async () => {
    const here = session();
    const id = idOf(await world.start('head -c 20000 /dev/zero; sleep 1.5', {}, here));
    const { output, metadata } = await ended(id, here);
    expect(output).toMatch(/^(?:\\x00)+\n\[\d+ more bytes/u);
    expect(output.length).toBeLessThan(15_800);
    expect(Number(metadata['next'])).toBeGreaterThan(3_500);
  });

  test('waits for the end when it is to, and no longer', async () => {
    const here = session();
    const id = idOf(await world.start('sleep 0.6; exit 4', {}, here));
    const result = await ended(id, here);
    expect(result).toMatchObject({ isError: true, metadata: { state: 'over', exitCode: 4 } });
    expect(Number(result.metadata['durationMs'])).toBeLessThan(10_000);
  });

  test('waiting ends with the turn', async () => {
    const here = session();
    const id = idOf(await world.start('sleep 30', {}, here));
    const stop = new AbortController();
    const waiting = world.call({ action: 'poll', id, waitSeconds: 60 }, { ...here, signal: stop.signal });
    stop.abort(new Error('stopped'));
    expect(await waiting).toMatchObject({ isError: true, output: expect.stringContaining('the turn was stopped') });
    await world.call({ action: 'kill', id }, here);
  });

  test(
    'keeps 20 MB; what comes later is dropped but for the newest, and the command goes on',
    { timeout: 180_000 },
    async () => {
      const here = session();
      const before = process.memoryUsage().rss;
      const id = idOf(await world.start('yes line | head -c 100000000; echo the end', {}, here));
      const path = world.processes.of(here.sessionKey ?? '')[0]?.file.path ?? '';
      const result = await ended(id, here);
      expect(result.metadata).toMatchObject({ exitCode: 0, bytes: 100_000_008 });
      expect((await readFile(path)).length).toBe(20 * 1024 ** 2);
      const last = await world.call({ action: 'poll', id, offset: -10 }, here);
      expect(last.output).toMatch(
        /\[79028488 more bytes were not kept; the newest of them: [line\n]+the end\n\]\n\[The command ended/u,
      );
      expect(process.memoryUsage().rss - before).toBeLessThan(150_000_000);
    },
  );

  test('what it wrote is in a file that only the owner can read', async () => {
    const here = session();
    const id = idOf(await world.start('echo kept; sleep 30', {}, here));
    const [one] = world.processes.of(here.sessionKey ?? '');
    await expect.poll(() => readFile(one?.file.path ?? '', 'utf8')).toBe('kept\n');
    await world.call({ action: 'kill', id }, here);
  });
});

describe('writing', () => {
  test('puts one line at a time, and an empty one ends the input', async () => {
    const here = session();
    const id = idOf(await world.start('while read -r line; do echo "<$line>"; done; echo over', {}, here));
    const write = (text: string): Promise<ToolResult> => world.call({ action: 'write', id, text }, here);
    expect(await write('a b')).toMatchObject({ metadata: { bytes: 4 } });
    await write('c\nd\n');
    expect((await write('')).output).toBe('The input of the command is closed now.');
    const { output } = await ended(id, here);
    expect(output).toBe('<a b>\n<c>\n<d>\nover\n[The command ended with exit code 0.]');
    expect(await write('late')).toMatchObject({
      isError: true,
      output: expect.stringContaining('the command has ended'),
    });
  });

  test('reaches programs that open /dev/stdin', async () => {
    const here = session();
    const id = idOf(await world.start('head -n 1 /dev/stdin; sleep 30', {}, here));
    await world.call({ action: 'write', id, text: 'hello' }, here);
    await waitFor(async () => (await world.call({ action: 'poll', id, offset: 0 }, here)).output.startsWith('hello\n'));
    await world.call({ action: 'kill', id }, here);
  });

  test('to a command that closed its input, or reads nothing, says so', async () => {
    const here = session();
    const closed = idOf(await world.start('exec 0<&-; sleep 30', {}, here));
    const says = async (id: string, text: string): Promise<string> =>
      (await world.call({ action: 'write', id, text }, here)).output;
    await waitFor(async () => (await says(closed, 'x')).includes('the input of the command is closed'));
    const deaf = idOf(await world.start('sleep 30', {}, here));
    const long = 'x'.repeat(32_000);
    await waitFor(async () => (await says(deaf, long)).includes('has not read what was written before'), {
      timeoutMs: 15_000,
    });
    await world.processes.stopSession(here.sessionKey ?? '');
  });

  test('to a shell passes the guard of commands', async () => {
    const here = session();
    const id = idOf(await world.start('bash', {}, here));
    const refused = await world.call({ action: 'write', id, text: 'rm -rf /' }, here);
    expect(refused).toMatchObject({ isError: true, output: expect.stringContaining('refused in every mode') });
    await world.call({ action: 'write', id, text: 'echo $((6 * 7))' }, here);
    await waitFor(async () => (await world.call({ action: 'poll', id, offset: 0 }, here)).output.startsWith('42\n'));
    await world.call({ action: 'kill', id }, here);
  });

  test('what was allowed for good in the foreground is not in the background', async () => {
    await using asking = await processWorld({ exec: { mode: 'ask' } });
    const hashOf = async (background: boolean): Promise<string | undefined> => {
      const call = { name: 'exec', arguments: JSON.stringify({ command: '/usr/bin/uname', background }) };
      const decision = await asking.registry.decide(call, testToolContext({ workingDirectory: asking.workspace }));
      return decision.decision === 'ask' ? decision.request.always?.hash : undefined;
    };
    expect(await hashOf(false)).toMatch(/./u);
    expect(await hashOf(true)).not.toBe(await hashOf(false));
  });

  test('to a command that needed a yes needs one too, with the whole text', async () => {
    await using asking = await processWorld({ exec: { mode: 'ask' } });
    const asked: string[] = [];
    const approve: TestCall['approve'] = async ({ title, detail }) => {
      asked.push(`${title}\n${detail}`);
      return asked.length === 1 ? { approved: true } : { approved: false, reason: 'no' };
    };
    const id = idOf(await asking.start('cat', {}, { approve }));
    expect(await asking.call({ action: 'write', id, text: 'a\u202Eb' }, { approve })).toMatchObject({ isError: true });
    expect(asked).toEqual([
      'Run a command in the background\ncat',
      `Write to a command in the background\n# to ${id}: cat\na\\u{202e}b`,
    ]);
    expect((await asking.call({ action: 'poll', id }, { approve })).output).toBe('[The command is still running.]');
  });

  test('is untrusted as soon as a file in its folder is marked', async () => {
    let isMarked = false;
    const marks = { holdsBelow: () => isMarked, places: async () => [] } as unknown as Marks;
    await using marked = await processWorld({ exec: { marks } });
    const here = session();
    const started = await marked.start('echo x; exec sleep 20', {}, here);
    const id = idOf(started);
    expect(started).not.toHaveProperty('untrusted');
    isMarked = true;
    expect(await marked.call({ action: 'poll', id }, here)).toMatchObject({ untrusted: true });
  });

  test('in a conversation with untrusted text needs approval', async () => {
    const here = session();
    const id = idOf(await world.start('cat', {}, here));
    const asked: string[] = [];
    const approve = async ({ reason }: { readonly reason: string }): Promise<{ approved: false; reason: string }> => {
      asked.push(reason);
      return { approved: false, reason: 'no' };
    };
    const theirs = { ...here, taint: { untrusted: true, private: false }, approve };
    expect(await world.call({ action: 'write', id, text: 'obey' }, theirs)).toMatchObject({ refused: true });
    expect(asked).toEqual([expect.stringContaining('This conversation contains text from others')]);
    await world.call({ action: 'kill', id }, here);
  });

  test('while strangers have a say makes what it prints theirs, and asks where it has the network', async () => {
    const here = session();
    const id = idOf(await world.start('cat', {}, here));
    expect(await world.call({ action: 'poll', id }, here)).not.toHaveProperty('untrusted');
    const approve = async (): Promise<{ approved: true }> => ({ approved: true });
    const theirs = { ...here, taint: { untrusted: true, private: false }, approve };
    await world.call({ action: 'write', id, text: 'obey' }, theirs);
    await waitFor(async () => (await world.call({ action: 'poll', id, offset: 0 }, here)).output.startsWith('obey'));
    expect(await world.call({ action: 'poll', id }, here)).toMatchObject({ untrusted: true, private: true });
    expect(await world.call({ action: 'list' }, here)).toMatchObject({ untrusted: true, private: true });
    const both = { ...here, taint: { untrusted: true, private: true } };
    const refused = await world.call({ action: 'write', id, text: 'send it' }, both);
    expect(refused).toMatchObject({ isError: true, output: expect.stringContaining('network') });
    await world.call({ action: 'kill', id }, here);
  });
});

describe('the end', () => {
  test.each([
    ['a trapped SIGTERM', (n: string) => `trap '' TERM; sleep ${n}; sleep ${n}`],
    ['sessions of their own', (n: string) => `setsid sleep ${n} & setsid sleep ${n} & sleep ${n}`],
    ['a cleared environment', (n: string) => `env -i setsid sleep ${n} & sleep ${n}`],
    ['an orphan', (n: string) => `(setsid sleep ${n} >/dev/null 2>&1 &); sleep ${n}`],
  ])('a kill ends all of it: %s', async (_, command) => {
    const here = session();
    const mark = uniqueSleep();
    const id = idOf(await world.start(`echo begun; ${command(mark)}`, {}, here));
    await waitFor(() => running(`sleep\0${mark}`) > 0);
    const result = await world.call({ action: 'kill', id }, here);
    expect(result).toMatchObject({
      output: 'begun\n[The command was ended, with all processes that it had started.]',
      metadata: { state: 'over' },
    });
    expect(running(mark)).toBe(0);
    expect(newsOf(id)).toBe(0);
  });

  test('what it leaves running ends with it, with a note', async () => {
    const here = session();
    const mark = uniqueSleep();
    const id = idOf(await world.start(`setsid sleep ${mark} & sleep 0.5`, {}, here));
    expect((await ended(id, here)).output).toContain(
      'Something it started still ran in the background and was stopped',
    );
    expect(running(mark)).toBe(0);
  });

  test('is told once, with the command but without secrets and what it printed', async () => {
    const here = session();
    const id = idOf(await world.start('sleep 0.5; echo private words; true hunter2', {}, here));
    await waitFor(() => newsOf(id) === 1);
    const told = world.news.find((one) => one.id === id);
    expect(told).toMatchObject({ untrusted: false, sessionKey: here.sessionKey });
    expect(told?.text).toContain('`sleep 0.5; echo private words; true [redacted]`');
    expect(told?.text).toContain('The command ended with exit code 0.\nIt wrote 14 bytes;');
    await waitFor(async () => !(await readdir(world.records)).includes(`${id}.json`));
    expect(await world.call({ action: 'poll', id }, here)).toMatchObject({ metadata: { exitCode: 0 } });
    expect(world.withdrawn).toContain(id);
  });

  test('is told as strangers’ words where they had a say', async () => {
    const approve = async (): Promise<{ approved: true }> => ({ approved: true });
    const theirs = { ...session(), taint: { untrusted: true, private: false }, approve };
    const id = idOf(await world.start('sleep 1.5', {}, theirs));
    await waitFor(() => newsOf(id) === 1);
    expect(world.news.find((one) => one.id === id)).toMatchObject({ untrusted: true });
  });

  test('is told when the disk takes it again', async () => {
    let tries = 0;
    const wake = async (): Promise<void> => {
      tries += 1;
      if (tries < 2) throw new Error('the disk is full');
    };
    await using full = await processWorld({ processes: { wake } });
    const id = idOf(await full.start('sleep 1.5'));
    await waitFor(() => tries === 2);
    await waitFor(async () => !(await readdir(full.records)).includes(`${id}.json`));
  });

  test('that came with the assistant’s is told by the next one, and a record that is none is removed', async () => {
    const mark = uniqueSleep();
    const first = await processWorld();
    const id = idOf(await first.start(`sleep ${mark}`));
    const record = await readFile(join(first.records, `${id}.json`), 'utf8');
    await first[Symbol.asyncDispose]();
    expect(running(mark)).toBe(0);
    expect(first.news).toEqual([]);
    await using next = await processWorld();
    await mkdir(next.records, { recursive: true });
    await writeFile(join(next.records, `${id}.json`), record);
    await writeFile(join(next.records, 'broken.json'), '{"v":1');
    await next.processes.recover();
    const later = idOf(await next.start(`sleep ${mark}`));
    expect(next.news).toEqual([]);
    next.processes.tellLost();
    await waitFor(() => next.news.length === 1);
    expect(next.news[0]).toMatchObject({ id, text: expect.stringContaining(`as ${id} is gone`) });
    await waitFor(async () => (await readdir(next.records)).join() === `${later}.json`);
  });
});

describeWith('bubblewrap')('in the sandbox', () => {
  test('it is enclosed, reads what it is told, and leaves nothing', async () => {
    await using enclosed = await sandboxWorld();
    const { sandbox, workspace, home } = enclosed;
    await using inside = await processWorld({ exec: { mode: 'auto', sandbox, workspace, home } });
    const mark = uniqueSleep();
    const started = await inside.start(`cat /etc/hostname ${home}/secret; setsid sleep ${mark} & exec cat`);
    expect(started.output).toContain('It runs in the background');
    const id = idOf(started);
    expect((await inside.call({ action: 'write', id, text: 'hello' })).isError).toBeUndefined();
    const said = async (): Promise<string> => (await inside.call({ action: 'poll', id, offset: 0 })).output;
    await waitFor(async () => (await said()).includes('hello\n'));
    expect(await said()).toMatch(/secret: No such file/u);
    await inside.call({ action: 'kill', id });
    await waitFor(() => running(mark) === 0);
  });
});
