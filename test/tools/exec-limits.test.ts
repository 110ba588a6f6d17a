import { spawn } from 'node:child_process';
import { statfsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { childEnvironment } from '../support/child-environment.ts';
import { execWorld, type ExecWorld, type ExecWorldOptions } from '../support/exec-world.ts';
import { IN_SANDBOX, noBubblewrap, running } from '../support/sandbox-world.ts';
import { describeWith } from '../support/test-with.ts';
import { waitFor } from '../support/wait.ts';

const MEBIBYTE = 1024 ** 2;
const CHILD = fileURLToPath(new URL('../support/exec-memory-child.ts', import.meta.url));

/** A number of seconds that no other process sleeps. */
let serial = 0;
const uniqueSleep = (): string => `7${process.pid}.${(serial += 1)}`;

const costSchema = z.object({
  grownBytes: z.number(),
  characters: z.number(),
  bytes: z.number(),
  isError: z.boolean(),
});

/** What a command costs a process that does nothing else. */
async function costOf(mode: 'auto' | 'full', command: string): Promise<z.infer<typeof costSchema>> {
  const child = spawn(process.execPath, ['--expose-gc', CHILD, mode, command], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnvironment(),
  });
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  await new Promise((resolve) => child.once('close', resolve));
  return costSchema.parse(JSON.parse(text));
}

async function gone(mark: string): Promise<void> {
  await waitFor(() => running(`sleep\0${mark}`) === 0, { timeoutMs: 3_000, what: 'everything to have ended' });
}

const MODES = [
  { mode: 'auto', where: IN_SANDBOX },
  { mode: 'full', where: 'without a sandbox' },
] as const;

describe.each(MODES)('what a command can use up $where', ({ mode }) => {
  const skipped = mode === 'auto' && noBubblewrap !== undefined;
  const it = test.skipIf(skipped);
  const worldOf = (options: ExecWorldOptions): ReturnType<typeof execWorld> => execWorld(mode, options);
  let world: ExecWorld;
  beforeAll(async () => {
    world = await execWorld(mode);
  });
  afterAll(() => world[Symbol.asyncDispose]());

  it('200 MB of output are not held', async () => {
    const cost = await costOf(mode, 'yes | head -c 200000000');
    expect(cost).toMatchObject({ bytes: 200_000_000, isError: false });
    expect(cost.characters).toBeLessThan(16_500);
    expect(cost.grownBytes).toBeLessThan(100 * MEBIBYTE);
  });

  it('output without an end is ended, with a clear result', async () => {
    await using world = await worldOf({ limits: { outputBytes: 64 * MEBIBYTE } });
    const result = await world.run('yes');
    expect(result).toMatchObject({ isError: true, metadata: { truncated: true } });
    expect(result.output).toMatch(/\[The command was ended because it wrote more than 64 MiB of output\.\]/u);
    expect(result.output.length).toBeLessThan(16_500);
  });

  it('more and more processes are ended, with a clear result, and leave nothing', async () => {
    await using world = await worldOf({ limits: { processes: 100 } });
    const mark = uniqueSleep();
    const result = await world.run(`i=0; while [ $i -lt 400 ]; do sleep ${mark} & i=$((i+1)); done; wait`);
    expect(result.isError).toBe(true);
    expect(result.output).toContain(
      '[The command was ended, with all processes that it had started, because more than 100 processes ran.]',
    );
    await gone(mark);
  });

  // Something else may give up space of the same disk meanwhile.
  it('a disk that fills up ends it before it is full, with a clear result', { retry: 3 }, async () => {
    const { bavail, bsize } = statfsSync('/tmp');
    await using world = await worldOf({ limits: { freeBytes: bavail * bsize - 4 * MEBIBYTE } });
    const result = await world.run('for i in $(seq 100); do head -c 8M /dev/zero > f$i; sleep 0.05; done; echo all');
    expect(result.isError).toBe(true);
    expect(result.output).toBe(
      '[The command was ended because the disk was almost full. What it wrote is still there.]',
    );
    expect((await readdir(world.workspace)).filter((name) => name.startsWith('f')).length).toBeLessThan(100);
  });

  it.each([
    ['in the background', (n: string) => `sleep ${n} &`],
    ['in a session of its own', (n: string) => `setsid sleep ${n} &`],
    ['in a session of its own, without output', (n: string) => `setsid sleep ${n} </dev/null >/dev/null 2>&1 &`],
    ['by its child', (n: string) => `(sleep ${n} & sleep ${n} &);`],
    ['with SIGTERM ignored', (n: string) => `(trap '' TERM; sleep ${n}) &`],
    ['with its hang-up ignored', (n: string) => `nohup sleep ${n} >/dev/null 2>&1 &`],
  ])('what is left running %s is stopped, and that is said', async (_, command) => {
    const mark = uniqueSleep();
    const result = await world.run(`${command(mark)} echo done`);
    expect(result.output.trimEnd()).toBe(
      'done\n[Something it started still ran in the background and was stopped; only a command with background: true goes on.]',
    );
    expect(result.isError).toBeUndefined();
    await gone(mark);
  });

  it.each([
    ['cat', 'cat; echo "code $?"', 'code 0\n'],
    ['read', 'read answer; echo "code $?"', 'code 1\n'],
    [
      'a password prompt',
      'read -s answer < /dev/tty; echo "code $?"',
      expect.stringMatching(/^(?=.*No such device).*code 1\n/su),
    ],
  ])('%s waits for no input that never comes', async (_, command, output) => {
    const result = await world.run(command);
    expect(result.output).toEqual(output);
    expect(result.metadata['durationMs']).toBeLessThan(5_000);
  });

  it('the time limit ends all of it, with a clear result', async () => {
    const mark = uniqueSleep();
    const command = `trap '' TERM HUP; setsid sleep ${mark} & sleep ${mark} & echo begun; sleep ${mark}`;
    const result = await world.run(command, { timeoutSeconds: 1 });
    expect(result.output).toMatch(
      /^begun\n.*\[The command was ended after 1 s, its time limit, with all processes that it had started\.\]$/su,
    );
    await gone(mark);
  });

  it('being stopped ends all of it', async () => {
    const mark = uniqueSleep();
    const stop = new AbortController();
    const done = world.run(`setsid sleep ${mark} & sleep ${mark}`, {}, stop.signal);
    await waitFor(() => running(`sleep\0${mark}`) >= 2);
    stop.abort(new Error('stopped'));
    expect((await done).isError).toBe(true);
    await gone(mark);
  });
});

describeWith('bubblewrap')('what the sandbox itself limits', () => {
  const enclosed = { limits: { processes: 64, fileBytes: 8 * MEBIBYTE, temporaryBytes: 4 * MEBIBYTE } };

  test('processes beyond the limit cannot be started, or end the command where no control group counts them', async () => {
    await using world = await execWorld('auto', { enclosed, limits: { processes: 64 } });
    const mark = uniqueSleep();
    const command = `for i in $(seq 200); do sleep ${mark} & done; wait`;
    // A busy machine starts 64 processes in more than a second.
    const result = await world.run(command, { timeoutSeconds: 5 });
    expect(result.isError).toBe(true);
    expect(result.output).toMatch(/fork: .*Resource temporarily unavailable|because more than 64 processes ran/u);
    await gone(mark);
  });

  test('a file beyond the limit cannot be written', async () => {
    await using world = await execWorld('auto', { enclosed });
    const result = await world.run('yes > big');
    expect(result).toMatchObject({ isError: true, output: expect.stringMatching(/File size limit exceeded/iu) });
    expect((await stat(join(world.workspace, 'big'))).size).toBeLessThanOrEqual(8 * MEBIBYTE);
  });

  test('the folder for temporary files cannot be filled beyond its size', async () => {
    await using world = await execWorld('auto', { enclosed });
    const result = await world.run('for i in 1 2 3; do head -c 3M /dev/zero > /tmp/f$i || exit 9; done');
    expect(result).toMatchObject({ isError: true, metadata: { exitCode: 9 } });
    expect(result.output).toContain('No space left on device');
  });
});
