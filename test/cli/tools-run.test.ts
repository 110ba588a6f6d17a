import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { temporaryFolder } from '../config/temporary-home.ts';
import { runCommand } from '../support/command-run.ts';
import { testWith } from '../support/test-with.ts';

const reportSchema = z.object({
  decision: z.enum(['allow', 'ask', 'deny']),
  reason: z.string().nullable(),
  result: z.object({ output: z.string(), isError: z.boolean() }).nullable(),
});

let home: string;
let workspace: string;

/** `assistant tools run NAME JSON …` in a home that no gateway serves, with everything real. */
async function toolsRun(
  name: string,
  args: object,
  ...flags: readonly string[]
): Promise<z.infer<typeof reportSchema> & { readonly code: number }> {
  const { code, out } = await runCommand(['tools', 'run', name, JSON.stringify(args), ...flags], home);
  return { code, ...reportSchema.parse(JSON.parse(out)) };
}

async function configure(tools: object): Promise<void> {
  await writeFile(join(home, 'config.json'), JSON.stringify({ log: { level: 'error' }, tools }));
}

beforeEach(async () => {
  home = temporaryFolder();
  workspace = join(home, 'workspace');
  await mkdir(workspace);
  await writeFile(join(workspace, 'notes.md'), 'notes');
  await configure({ exec: { mode: 'full' } });
});

describe('what a path tool would be allowed', () => {
  beforeEach(async () => {
    await writeFile(join(workspace, '.env'), 'KEY=1');
    await symlink(join(home, 'config.json'), join(workspace, 'soft'));
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
  });

  test.each([
    ['read_file', '.env', 'ask', 'usually holds secrets'],
    ['read_file', '../config.json', 'deny', 'configuration or state'],
    ['read_file', 'HOME//./CONFIG.json', 'deny', 'configuration or state'],
    ['read_file', '~/sessions/x', 'deny', 'outside'],
    ['read_file', 'soft', 'deny', 'configuration or state'],
    ['read_file', 'pipe', 'deny', 'not a regular file'],
    ['read_file', '/etc/passwd', 'deny', 'outside the workspace'],
    ['read_file', '/proc/self/environ', 'deny', 'belongs to the system'],
    ['list_dir', '..', 'deny', 'configuration or state'],
    ['write_file', '.bashrc', 'ask', 'a shell starts'],
    ['write_file', 'cron/jobs.json', 'deny', 'cron tool'],
    ['write_file', '../audit.jsonl', 'deny', 'configuration or state'],
  ])('%s %s: %s', async (name, path, decision, reason) => {
    const content = name === 'write_file' ? { content: 'x' } : {};
    const report = await toolsRun(name, { path: path.replace('HOME', home), ...content }, '--dry-run');
    const why: unknown =
      reason === 'outside' ? expect.stringMatching(/outside|state/u) : expect.stringContaining(reason);
    expect(report).toEqual({ code: 1, decision, reason: why, result: null });
  });

  test.each([
    ['read_file', 'twin.md'],
    ['list_dir', '.'],
    ['write_file', 'SOUL.md'],
    ['write_file', 'new/file.md'],
  ])('%s %s: allow, and nothing is done', async (name, path) => {
    const report = await toolsRun(name, { path, ...(name === 'write_file' ? { content: 'x' } : {}) }, '--dry-run');
    expect(report).toEqual({ code: 0, decision: 'allow', reason: null, result: null });
    expect(existsSync(join(workspace, 'new'))).toBe(false);
  });
});

describe('what a command would be allowed', () => {
  test.each([
    ['sudo ls', 'ask', "another user's rights"],
    ['curl http://169.254.169.254/latest/meta-data/', 'ask', '169.254.169.254'],
    ['cat ../config.json', 'ask', "assistant's own configuration"],
    ['assistant pair approve ABCDEFGH', 'ask', 'command line'],
    ['rm -rf /', 'deny', 'refused in every mode'],
    [':(){ :|:& };:', 'deny', 'fork bomb'],
  ])('in the mode full: %s: %s', async (command, decision, reason) => {
    const report = await toolsRun('exec', { command }, '--dry-run');
    expect(report).toEqual({ code: 1, decision, reason: expect.stringContaining(reason), result: null });
  });

  test.each(['ls -la', 'npm test', 'curl https://example.com', 'echo shutdown', 'git rm -r x', 'docker run --rm x'])(
    'in the mode full: %s: allow',
    async (command) => {
      expect(await toolsRun('exec', { command }, '--dry-run')).toMatchObject({ code: 0, decision: 'allow' });
    },
  );

  testWith('bubblewrap')('in the sandbox only what reaches out of it is asked', async () => {
    await configure({ exec: { mode: 'auto' } });
    const decide = (args: object): ReturnType<typeof toolsRun> => toolsRun('exec', args, '--dry-run');
    // As docs/security.md says of these two.
    expect(await decide({ command: 'curl http://10.0.0.1' })).toMatchObject({ decision: 'allow', reason: null });
    expect(await decide({ command: 'curl localhost:3000' })).toMatchObject({ decision: 'allow', reason: null });
    expect(await decide({ command: 'sudo ls; curl http://10.0.0.1' })).toMatchObject({ decision: 'allow' });
    expect(await decide({ command: 'curl http://10.0.0.1', network: true })).toMatchObject({
      decision: 'ask',
      reason: expect.stringMatching(/names 10\.0\.0\.1.*wants to reach the network/u),
    });
    await configure({ exec: { mode: 'auto', network: true }, web: { allowHosts: ['10.0.0.2'] } });
    expect(await decide({ command: 'curl https://example.com' })).toMatchObject({ decision: 'allow' });
    expect(await decide({ command: 'curl http://10.0.0.1' })).toMatchObject({ decision: 'ask' });
    expect(await decide({ command: 'curl http://10.0.0.2' })).toMatchObject({ decision: 'allow' });
  });

  test('without a sandbox each is asked about, and what is switched off is denied', async () => {
    await configure({ exec: { mode: 'auto', sandbox: 'off' } });
    const asked = await toolsRun('exec', { command: 'pkill x' }, '--dry-run');
    expect(asked).toMatchObject({
      decision: 'ask',
      reason: expect.stringMatching(/did not start.*each command needs your approval/u),
    });
    await configure({ exec: { mode: 'off' } });
    expect(await toolsRun('exec', { command: 'ls' }, '--dry-run')).toMatchObject({ decision: 'deny' });
  });
});

test('what is allowed runs, what would be asked does not', async () => {
  expect(await toolsRun('exec', { command: 'echo hi > made; cat made' })).toEqual({
    code: 0,
    decision: 'allow',
    reason: null,
    result: expect.objectContaining({ output: 'hi\n', isError: false }),
  });
  const asked = await toolsRun('exec', { command: 'touch asked; sudo true' });
  expect(asked).toMatchObject({ code: 1, decision: 'ask', result: null });
  expect(existsSync(join(workspace, 'made'))).toBe(true);
  expect(existsSync(join(workspace, 'asked'))).toBe(false);
});
