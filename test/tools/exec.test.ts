import { readFileSync, readdirSync } from 'node:fs';
import { mkdir, realpath, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { createExecTool, type ExecOptions } from '../../src/extensions/exec/exec.ts';
import type { ToolDecision } from '../../src/core/tools/registry/decide.ts';
import type { Executed, Tool, ToolContext } from '../../src/core/tools/tool.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { running } from '../support/sandbox-world.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import { decisionOf, runPlanned } from '../support/planned-calls.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

let folder: Awaited<ReturnType<typeof tempFolder>>;
let workspace: string;
/** Ends what a failed test left running. */
const over = new AbortController();

beforeAll(async () => {
  folder = await tempFolder();
  workspace = await realpath(folder.path);
});

afterAll(async () => {
  over.abort(new Error('the tests are over'));
  await waitFor(() => running('exec-test-loop') === 0);
  await folder[Symbol.asyncDispose]();
});

function tool(options: Partial<ExecOptions> = {}): Tool {
  return createExecTool({
    mode: 'full',
    timeoutSeconds: 20,
    sandbox: null,
    network: false,
    maxConcurrent: 4,
    workspace,
    environment: { PATH: process.env['PATH'] ?? '/usr/bin:/bin', LANG: 'C.UTF-8' },
    clock: systemClock,
    ...options,
  });
}

function context(options: Partial<TestCall> = {}): ToolContext {
  return testToolContext({
    sessionKey: 'terminal:main',
    turnId: 'turn',
    callId: 'turn.1',
    messageId: 'message',
    workingDirectory: workspace,
    signal: over.signal,
    chatType: null,
    approve: async () => ({ approved: false, reason: 'nobody is asked here' }),
    ...options,
  });
}

interface Params {
  readonly cwd?: string;
  readonly timeoutSeconds?: number;
}

async function run(command: string, params: Params = {}, options: Partial<TestCall> = {}): Promise<Executed> {
  return await runPlanned(tool(), { command, ...params }, context(options));
}

function decide(command: string, mode: ExecOptions['mode'], cwd?: string): Promise<ToolDecision> {
  return decisionOf(tool({ mode }), { command, ...(cwd === undefined ? {} : { cwd }) }, context());
}

/** A number of seconds that no other process sleeps; the tests may run beside each other. */
let serial = 1_000;
const uniqueSleep = (): string => `9${process.pid}.${(serial += 1)}`;

describe('what a command may be', () => {
  test('shows a small, fully described schema', () => {
    const { name, description, parameters } = tool();
    const schema = z.toJSONSchema(parameters, { io: 'input', target: 'draft-7' });
    expect(JSON.stringify({ name, description, schema }).length).toBeLessThan(1_600);
    for (const field of Object.values(parameters.shape)) expect(field.description).toBeTypeOf('string');
  });

  test('denies everything when switched off', async () => {
    expect(await decide('ls', 'off')).toMatchObject({
      decision: 'deny',
      reason: expect.stringContaining('switched off'),
    });
  });

  test.each(['ask', 'auto'] as const)('asks with the whole command in the mode %s', async (mode) => {
    const asked = await decide('git status', mode);
    expect(asked).toMatchObject({ decision: 'ask', request: { title: 'Run a command', detail: 'git status' } });
  });

  test('shows hidden characters and the folder to whom it asks', async () => {
    await mkdir(join(workspace, 'sub'), { recursive: true });
    const asked = await decide('echo a\u202Eb\u0007\nls', 'ask', 'sub');
    expect(asked).toMatchObject({ request: { detail: '# in "sub"\necho a\\u{202e}b\\u{7}\nls' } });
  });

  test('allows without a question in the mode full', async () => {
    expect(await decide('ls', 'full')).toEqual({ decision: 'allow' });
  });

  test.each(['ask', 'auto', 'full'] as const)('refuses the plainly destructive in the mode %s', async (mode) => {
    expect(await decide('rm -rf /', mode)).toMatchObject({ decision: 'deny' });
  });

  test('refuses NUL characters', async () => {
    expect(await decide('echo a\0b', 'full')).toMatchObject({ decision: 'deny' });
  });

  test('says so where the workspace is not there', async () => {
    const gone = tool({ workspace: join(workspace, 'gone') });
    expect(await gone.plan({ command: 'ls' }, context())).toMatchObject({
      denied: expect.stringMatching(/^The workspace .* is not there; create it/u),
    });
  });

  test.each(['/', '..', 'out', 'missing', 'a-file'])('does not run in the folder %s', async (cwd) => {
    await symlink('/tmp', join(workspace, 'out')).catch(() => {});
    await run('touch a-file');
    const reason: unknown = expect.stringMatching(/outside the workspace|no folder/u);
    expect(await decide('ls', 'full', cwd)).toEqual({ decision: 'deny', reason });
    await expect(run('ls', { cwd })).rejects.toThrow(/outside the workspace|no folder/u);
  });
});

describe('what a command gives back', () => {
  test('tells its title, exit code, size and duration', async () => {
    const result = await run('echo   hello');
    expect(result).toMatchObject({ title: 'ran echo hello', output: 'hello\n' });
    expect(result.isError).toBeUndefined();
    expect(result.metadata).toEqual({
      exitCode: 0,
      durationMs: expect.any(Number),
      truncated: false,
      bytes: 6,
    });
  });

  test('a failing command is an error with its exit code', async () => {
    expect(await run('echo no; exit 3')).toMatchObject({ output: 'no\n', isError: true, metadata: { exitCode: 3 } });
  });

  test('a signal that ends it is named', async () => {
    const result = await run('kill -SEGV $$');
    expect(result).toMatchObject({ isError: true, metadata: { exitCode: null } });
    expect(result.output).toContain('SIGSEGV');
  });

  test('a command with a mistake in it says so', async () => {
    expect(await run('nosuchprogram-here')).toMatchObject({
      isError: true,
      output: expect.stringContaining('not found'),
      metadata: { exitCode: 127 },
    });
  });

  test('a command that is too long for the system is refused in a sentence', async () => {
    await expect(run(`: ${'x'.repeat(200_000)}`)).rejects.toThrow('too long');
  });

  test('runs in the folder it is given, with the workspace as home', async () => {
    await mkdir(join(workspace, 'sub'), { recursive: true });
    const { output } = await run('pwd; echo $HOME', { cwd: 'sub' });
    expect(output).toBe(`${join(workspace, 'sub')}\n${workspace}\n`);
  });

  test('sees nothing of the environment but what it was given', async () => {
    process.env['EXEC_TEST_CANARY'] = 'canary';
    const { output } = await run('env');
    delete process.env['EXEC_TEST_CANARY'];
    expect(output).toContain('LANG=C.UTF-8');
    expect(output).not.toContain('canary');
  });

  test.each([9_000, 14_000, 14_001, 40_000, 50_000, 60_000, 60_001])(
    'the ends are right whatever the length (%i bytes)',
    async (bytes) => {
      const { output, metadata } = await run(`seq -w 1 20000 | tr '\\n' '.' | head -c ${bytes}`);
      const whole = Array.from({ length: 20_000 }, (_, i) => `${String(i + 1).padStart(5, '0')}.`)
        .join('')
        .slice(0, bytes);
      expect(metadata).toMatchObject({ bytes, truncated: bytes > 14_000 });
      expect(output.slice(0, 9_000)).toBe(whole.slice(0, 9_000));
      expect(output.slice(-5_000)).toBe(whole.slice(-5_000));
    },
  );

  test('tells who watches when a command takes long', async () => {
    const lines: string[] = [];
    const clock: typeof systemClock = {
      ...systemClock,
      timer: (ms, callback, options) => systemClock.timer(ms === 5_000 ? 50 : ms, callback, options),
    };
    const progress = (line: string): void => void lines.push(line);
    const done = runPlanned(
      tool({ clock }),
      { command: 'until test -e go; do sleep 0.02; done # exec-test-loop' },
      context({ progress }),
    );
    await waitFor(() => lines.length > 0);
    await run('touch go');
    await done;
    expect(lines).toEqual(['still running until test -e go; do sleep 0.02; done # exec-test-loop']);
  });
});

describe('how a command ends', () => {
  test.concurrent.each([
    ['one process', (n: string) => `sleep ${n}`],
    ['a shell with two children', (n: string) => `sh -c 'sleep ${n} & sleep ${n}'`],
    ['a child in a session of its own', (n: string) => `setsid sleep ${n} & sleep ${n}`],
    ['a child that left the group and cleared its environment', (n: string) => `env -i setsid sleep ${n} & sleep ${n}`],
    ['an orphan in a session of its own', (n: string) => `(setsid sleep ${n} >/dev/null 2>&1 &); sleep ${n}`],
  ])('the time limit ends %s', async (_, command) => {
    const mark = uniqueSleep();
    const result = await run(`echo begun; ${command(mark)}`, { timeoutSeconds: 1 });
    expect(result.isError).toBe(true);
    expect(result.output).toMatch(/^begun\n\[The command was ended after 1 s/u);
    expect(running(mark)).toBe(0);
  });

  test.concurrent('what ignores SIGTERM is killed a second later', async () => {
    const mark = uniqueSleep();
    const result = await run(`trap '' TERM; echo begun; sleep ${mark}; sleep ${mark}`, { timeoutSeconds: 1 });
    expect(result.metadata?.['durationMs']).toBeGreaterThan(1_900);
    expect(result.metadata?.['durationMs']).toBeLessThan(6_000);
    expect(running(mark)).toBe(0);
  });

  test.concurrent('what it says on SIGTERM is still heard', async () => {
    const { output } = await run(`trap 'echo bye; exit 0' TERM; sleep ${uniqueSleep()} & wait`, {
      timeoutSeconds: 1,
    });
    expect(output).toMatch(/^bye\n\[The command was ended/u);
  });

  test('what ends by itself right after the shell is not called a leftover', async () => {
    expect(await run('echo late > >(cat)')).toMatchObject({ output: 'late\n' });
  });

  test('what hid itself, without its parent, session and environment, is stopped too', async () => {
    const { output } = await run(
      `env -i setsid sh -c 'sleep 60 & echo $! >hid' & until test -s hid; do sleep 0.02; done; cat hid; rm hid`,
    );
    expect(output).toContain('was stopped');
    expect(() => process.kill(Number.parseInt(output, 10), 0)).toThrow('ESRCH');
  });

  test('what killed the process that looks after it is stopped too, and that is said', async () => {
    const { output } = await run('sleep 60 & echo $! >left; kill -9 $PPID; sleep 60');
    expect(output).toContain('[Something it started still ran in the background and was stopped;');
    const left = readFileSync(join(workspace, 'left'), 'utf8');
    await waitFor(() => {
      try {
        return !process.kill(Number.parseInt(left, 10), 0);
      } catch {
        return true;
      }
    });
  });

  test('at most so many commands run at once, and waiting can be stopped', async () => {
    const exec = tool({ maxConcurrent: 1 });
    const controller = new AbortController();
    const first = runPlanned(
      exec,
      { command: 'touch a; until test -e b; do sleep 0.02; done # exec-test-loop' },
      context(),
    );
    await waitFor(() => readdirSync(workspace).includes('a'));
    const second = runPlanned(exec, { command: 'touch c' }, context());
    const third = runPlanned(exec, { command: 'touch d' }, context({ signal: controller.signal }));
    controller.abort(new Error('not needed any more'));
    await expect(third).rejects.toThrow('not needed any more');
    expect(readdirSync(workspace)).not.toContain('c');
    await run('touch b');
    await Promise.all([first, second]);
    expect(readdirSync(workspace)).toContain('c');
    expect(readdirSync(workspace)).not.toContain('d');
  });

  test('what changed while a command waited for its turn is noticed before it starts', async () => {
    const exec = tool({ maxConcurrent: 1 });
    const first = runPlanned(exec, { command: 'until test -e go; do sleep 0.02; done # exec-test-loop' }, context());
    let changed = false;
    const allowed = context({ approved: 'touch changed', changed: async () => changed });
    const second = runPlanned(exec, { command: 'touch changed' }, allowed);
    const refused = expect(second).rejects.toThrow('changed after it was approved');
    changed = true;
    await run('touch go');
    await first;
    await refused;
    expect(readdirSync(workspace)).not.toContain('changed');
  });
});
