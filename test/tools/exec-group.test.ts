import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { SandboxEngine } from '../../src/core/security/enclosure/enclosure.ts';
import type { EnclosureRequest, Sandbox } from '../../src/core/security/enclosure/sandbox.ts';
import { createExecTool } from '../../src/core/tools/exec/exec.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { testToolContext, type TestCall } from '../support/tool-context.ts';

const ENGINE: SandboxEngine = {
  program: '/nowhere',
  features: [],
  folder: '/nowhere',
  group: null,
  limits: { processes: 9, memoryBytes: 9, fileBytes: 9, openFiles: 9, temporaryBytes: 9 },
};

/** For whom a command of this context is enclosed. */
async function enclosedFor(context: Partial<TestCall>): Promise<EnclosureRequest['role'] | undefined> {
  const workspace = await mkdtemp(join(tmpdir(), 'exec-group-'));
  const requests: EnclosureRequest[] = [];
  const sandbox: Sandbox = {
    probe: () => Promise.resolve({ available: true, notes: [], engine: ENGINE }),
    enclose: async (request) => {
      requests.push(request);
      return { engine: null, mounts: [], network: false };
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
