import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SandboxProbe } from '../../src/core/security/sandbox/probe.ts';
import { DEFAULT_LIMITS } from '../../src/core/security/sandbox/profile.ts';
import type { CommandRequest, Sandbox } from '../../src/core/security/sandbox/sandbox.ts';
import { createExecTool } from '../../src/core/tools/exec/exec.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

const AVAILABLE: SandboxProbe = {
  available: true,
  notes: [],
  engine: {
    program: '/nowhere',
    proc: 'empty',
    disableUserns: false,
    hostname: true,
    filter: undefined,
    groups: [],
    limits: DEFAULT_LIMITS,
  },
  groups: { folders: [], countsProcesses: false, countsMemory: false },
};

/** For whom a command of this context is enclosed. */
async function enclosedFor(context: Partial<TestCall>): Promise<CommandRequest['role'] | undefined> {
  const workspace = await mkdtemp(join(tmpdir(), 'exec-group-'));
  const requests: CommandRequest[] = [];
  const sandbox: Sandbox = {
    probe: () => Promise.resolve(AVAILABLE),
    wrap: async (request) => {
      requests.push(request);
      return { file: '/bin/true', args: [], env: {} };
    },
    [Symbol.asyncDispose]: async () => {},
  };
  const tool = createExecTool({
    mode: 'auto',
    timeoutSeconds: 20,
    sandbox,
    network: false,
    maxConcurrent: 1,
    workspace,
    environment: {},
    clock: systemClock,
  });
  await tool.execute({ command: 'true' }, testToolContext({ workingDirectory: workspace, ...context }));
  return requests[0]?.role;
}

test('only in the owner’s direct chats a command sees the owner’s private files', async () => {
  expect(await enclosedFor({ role: 'owner', chatType: 'direct' })).toBe('owner');
  expect(await enclosedFor({ role: 'owner', chatType: 'group' })).toBe('trusted');
  expect(await enclosedFor({ role: 'trusted', chatType: 'direct' })).toBe('trusted');
  expect(await enclosedFor({ role: 'guest', chatType: 'direct' })).toBe('guest');
});
