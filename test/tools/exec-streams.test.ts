import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { execWorld, type ExecWorld } from '../support/exec-world.ts';
import { idOf, processWorld, type ProcessWorld } from '../support/process-world.ts';
import { IN_SANDBOX, noBubblewrap } from '../support/sandbox-world.ts';
import { waitFor } from '../support/wait.ts';

/** A command that waits for a file in its folder. */
const until = (name: string): string => `until test -e ${name}; do sleep 0.02; done`;

const MODES = [
  { mode: 'auto', where: IN_SANDBOX },
  { mode: 'full', where: 'without a sandbox' },
] as const;

describe.each(MODES)('what was written to stdout and what to stderr $where', ({ mode }) => {
  const it = test.skipIf(mode === 'auto' && noBubblewrap !== undefined);
  let world: ExecWorld;
  beforeAll(async () => {
    world = await execWorld(mode);
  });
  afterAll(() => world[Symbol.asyncDispose]());
  const outputOf = async (command: string): Promise<string> => (await world.run(command)).output;

  it('is shown as it is where only one of them was written to', async () => {
    expect(await outputOf('echo a; echo b')).toBe('a\nb\n');
    expect(await outputOf('echo a >&2; echo b >&2')).toBe('a\nb\n');
    expect(await outputOf('echo a; ls /nowhere 2>/dev/null; (echo c >&2) 2>&1')).toBe('a\nc\n');
  });

  it('is told apart by a line before each change where both were', async () => {
    const output = await outputOf('echo out; echo err >&2');
    expect(['out\n[stderr]\nerr\n', '[stderr]\nerr\n[stdout]\nout\n']).toContain(output);
  });

  it('keeps the order of each exactly', async () => {
    const output = await outputOf('for i in $(seq 500); do echo out$i; echo err$i >&2; done');
    const numbers = Array.from({ length: 500 }, (_, i) => i + 1);
    expect(apart(output)).toEqual({
      stdout: numbers.map((n) => `out${n}\n`).join(''),
      stderr: numbers.map((n) => `err${n}\n`).join(''),
    });
  });

  it('reaches each through its path, and neither is a terminal', async () => {
    const output = await outputOf('echo a > /dev/stdout; echo b > /dev/stderr; test -t 1 || test -t 2 || echo no');
    expect(apart(output)).toEqual({ stdout: 'a\nno\n', stderr: 'b\n' });
  });

  it('is readable whatever the bytes are', async () => {
    const output = await outputOf(String.raw`printf 'a\0b\xff\xc3\xa9\r\n'; printf '\x1b[31mred\0\xe2\x82\n' >&2`);
    expect(apart(output)).toEqual({ stdout: 'a\\x00b\uFFFDé\n', stderr: '\\x1b[31mred\\x00\uFFFD\n' });
  });

  it('does not push out the end of stderr by much stdout', async () => {
    const { output, metadata } = await world.run(
      'echo begun; seq 1 20000; echo the error >&2; seq 20001 40000; exit 3',
    );
    expect(metadata).toMatchObject({ truncated: true, exitCode: 3 });
    // Of what both wrote within a moment either may come first: the error before all, after “begun”, or later.
    expect(output.replace('[stderr]\nthe error\n[stdout]\n', '')).toMatch(/^begun\n1\n2\n/u);
    expect(apart(output)).toEqual({ stdout: expect.stringMatching(/\n39999\n40000\n$/u), stderr: 'the error\n' });
    expect(output.length).toBeLessThan(15_300);
  });

  it('does not push out the end of stdout by much stderr', async () => {
    const { output } = await world.run('seq 1 20000 >&2; echo the result; seq 20001 40000 >&2');
    // Of what both wrote within a moment the result may come first, between, or last.
    expect(apart(output)).toEqual({
      stdout: expect.stringMatching(/(?:^|\n)the result\n/u),
      stderr: expect.stringMatching(/\n39999\n40000\n$/u),
    });
    expect(output.length).toBeLessThan(15_300);
  });

  it('counts both for the limit', async () => {
    await using limited = await execWorld(mode, { limits: { outputBytes: 16 * 1024 ** 2 } });
    const result = await limited.run(
      'head -c 9M /dev/zero | tr "\\0" y; head -c 9M /dev/zero | tr "\\0" e >&2; echo alive; sleep 5',
    );
    expect(result.output).toContain('because it wrote more than 16 MiB of output');
    expect(result.output).toContain('[stderr]\n');
  });

  it('a failure is told with the last line of stderr', async () => {
    const result = await world.run('echo error: no such thing >&2; echo 12 files; exit 1');
    expect(result).toMatchObject({ isError: true, failure: expect.stringContaining('“error: no such thing”') });
    expect(await world.run('echo 12 files; exit 1')).toMatchObject({ failure: expect.stringContaining('“12 files”') });
  });

  it.each(['stdout', 'stderr'])('a leftover that holds %s alone keeps nothing waiting', async (held) => {
    const other = held === 'stdout' ? '2>/dev/null' : '>/dev/null';
    const result = await world.run(`setsid sleep 91.${process.pid} ${other} & echo done; echo oops >&2`);
    const { stdout, stderr } = apart(result.output);
    expect(stdout + stderr).toContain('done\n');
    expect(stderr).toMatch(/^oops\n/u);
    expect(result.output).toContain('Something it started still ran in the background and was stopped');
    expect(result.metadata['durationMs']).toBeLessThan(10_000);
  });
});

/** What the marks say that each wrote. */
function apart(output: string): { readonly stdout: string; readonly stderr: string } {
  const found = { stdout: '', stderr: '' };
  let stream: keyof typeof found = 'stdout';
  for (const line of output.split(/(?<=\n)/u)) {
    if (line === '[stdout]\n') stream = 'stdout';
    else if (line === '[stderr]\n') stream = 'stderr';
    else found[stream] += line;
  }
  return found;
}

describe('in the background', () => {
  let world: ProcessWorld;
  beforeAll(async () => {
    world = await processWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('both are told apart in what is polled and in the file', async () => {
    const here = { sessionKey: 'both' };
    const id = idOf(await world.start(`echo out; ${until('b1')}; echo err >&2; ${until('b2')}; echo more`, {}, here));
    const poll = async (offset: number): Promise<string> =>
      (await world.call({ action: 'poll', id, offset }, here)).output.replace(/\[The command.*/su, '');
    await waitFor(async () => (await poll(0)) === 'out\n');
    await go('b1');
    await waitFor(async () => (await poll(0)) === 'out\n[stderr]\nerr\n');
    expect(await poll(4)).toBe('[stderr]\nerr\n');
    expect(await poll(-4)).toBe('[stderr]\nerr\n');
    expect(await poll(-2)).toBe('[stderr]\nr\n');
    await go('b2');
    await world.call({ action: 'poll', id, waitSeconds: 30 }, here);
    expect(await poll(0)).toBe('out\n[stderr]\nerr\n[stdout]\nmore\n');
    expect(await poll(-5)).toBe('more\n');
    const [process] = world.processes.of('both');
    expect(await readFile(process?.file.path ?? '', 'utf8')).toBe('out\n[stderr]\nerr\n[stdout]\nmore\n');
  });

  test('a program that writes to stderr alone is shown as it is', async () => {
    const id = idOf(await world.start('echo listening >&2; sleep 30'));
    await waitFor(async () => (await world.call({ action: 'poll', id, offset: 0 })).output.startsWith('listening\n'));
    await world.call({ action: 'kill', id });
  });

  test('an error is seen while a question waits for its answer', async () => {
    const id = idOf(
      await world.start(`printf "Name? "; ${until('asked')}; echo careful >&2; read -r name; echo "Hello $name"`),
    );
    await waitFor(async () => (await world.call({ action: 'poll', id, offset: 0 })).output.startsWith('Name? '));
    await go('asked');
    await waitFor(async () =>
      (await world.call({ action: 'poll', id, offset: 0 })).output.startsWith('Name? \n[stderr]\ncareful\n'),
    );
    await world.call({ action: 'write', id, text: 'Ann' });
    const { output } = await world.call({ action: 'poll', id, waitSeconds: 30 });
    expect(output).toBe('[stdout]\nHello Ann\n[The command ended with exit code 0.]');
  });

  test('what is not kept any more still shows the newest of it', { timeout: 120_000 }, async () => {
    const id = idOf(await world.start('head -c 30000000 /dev/zero | tr "\\0" x; echo; echo the error >&2; seq 1 9000'));
    const { output } = await world.call({ action: 'poll', id, waitSeconds: 60 });
    expect(output.length).toBeLessThan(20_000);
    const last = await world.call({ action: 'poll', id, offset: -10 });
    expect(last.output.split('the newest of them: ')[1]).toContain('\n8999\n9000\n');
  });

  async function go(name: string): Promise<void> {
    await writeFile(join(world.workspace, name), '');
  }
});
