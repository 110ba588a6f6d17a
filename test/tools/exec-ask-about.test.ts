import { chmod, mkdir, realpath, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SandboxProbe } from '../../src/core/security/enclosure/probe.ts';
import type { EnclosureRequest, Sandbox } from '../../src/core/security/enclosure/sandbox.ts';
import { createExecTool, type ExecOptions } from '../../src/extensions/exec/exec.ts';
import type { ToolDecision } from '../../src/core/tools/registry/decide.ts';
import type { ToolResult } from '../../src/core/tools/tool.ts';
import { openMarks } from '../support/marks.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { EVERYDAY_COMMANDS } from '../fixtures/everyday-commands.ts';
import { tempFolder } from '../support/temp.ts';
import { decisionOf, runPlanned } from '../support/planned-calls.ts';
import { testToolContext } from '../support/tool-context.ts';

const AVAILABLE: SandboxProbe = {
  available: true,
  notes: [],
  engine: {
    program: '/nowhere',
    features: [],
    folder: '/nowhere',
    hasFilter: false,
    group: null,
    limits: { processes: 9, memoryBytes: 9, fileBytes: 9, openFiles: 9, temporaryBytes: 9 },
  },
};

let folder: Awaited<ReturnType<typeof tempFolder>>;
let workspace: string;
let programs: string;

beforeAll(async () => {
  folder = await tempFolder();
  const path = await realpath(folder.path);
  workspace = join(path, 'workspace');
  programs = join(path, 'programs');
  await Promise.all([mkdir(join(workspace, 'bin'), { recursive: true }), mkdir(programs)]);
  await mkdir(join(programs, 'sub'));
  for (const file of [join(programs, 'tool'), join(programs, 'sub', 'tool'), join(workspace, 'bin', 'own')]) {
    await writeFile(file, '#!/bin/true\n');
    await chmod(file, 0o755);
  }
  await symlink('/bin/sh', join(programs, 'harmless'));
  await symlink(join(workspace, 'bin', 'own'), join(programs, 'linked'));
});

afterAll(async () => await folder[Symbol.asyncDispose]());

/** Encloses nothing, but says that it would, and for whom. */
function sandbox(probe: SandboxProbe = AVAILABLE, onEnclose?: (request: EnclosureRequest) => void): Sandbox {
  return {
    probe: () => Promise.resolve(probe),
    enclose: async (request) => {
      onEnclose?.(request);
      return { engine: null, mounts: [], network: false };
    },
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Says that commands can run on views. */
const VIEWS: NonNullable<ExecOptions['landing']> = {
  probe: async () => ({ available: true }),
  open: () => Promise.reject(new Error('nothing runs here')),
};

function tool(options: Partial<ExecOptions> = {}): ReturnType<typeof createExecTool> {
  return createExecTool({
    mode: 'auto',
    timeoutSeconds: 20,
    sandbox: sandbox(),
    network: false,
    maxConcurrent: 4,
    workspace,
    environment: { PATH: `${programs}:/usr/bin:/bin`, HOME: '/home/somebody' },
    landing: VIEWS,
    clock: systemClock,
    ...options,
  });
}

type Params = Readonly<Record<string, unknown>>;

async function decide(params: string | Params, options: Partial<ExecOptions> = {}): Promise<ToolDecision> {
  const given = typeof params === 'string' ? { command: params } : params;
  return await decisionOf(tool(options), given, testToolContext({ workingDirectory: workspace }));
}

async function alwaysOf(command: string, options: Partial<ExecOptions> = {}): Promise<readonly string[] | undefined> {
  const decision = await decide(command, { sandbox: null, ...options });
  return decision.decision === 'ask' ? decision.request.always?.program : undefined;
}

describe('of more than 150 everyday commands in the sandbox', () => {
  test('nobody is asked about one that stays in it, and about each that wants the network the owner is', async () => {
    expect(EVERYDAY_COMMANDS.length).toBeGreaterThanOrEqual(150);
    const decisions = await Promise.all(
      EVERYDAY_COMMANDS.map(async ({ command, network }) => {
        const decision = await decide({ command, ...(network ? { network } : {}) });
        const reason = decision.decision === 'allow' ? null : decision.reason;
        return { command, decision: decision.decision, reason };
      }),
    );
    expect(decisions).toEqual(
      EVERYDAY_COMMANDS.map(({ command, network }) => ({
        command,
        decision: network ? 'ask' : 'allow',
        reason: network ? 'It wants to reach the network.' : null,
      })),
    );
  });
});

describe('who is asked about a command', () => {
  test('nobody, where a sandbox that held its test encloses it without the network', async () => {
    expect(await decide('ls')).toEqual({ decision: 'allow' });
  });

  test('the owner, in the mode ask, though it would be enclosed', async () => {
    expect(await decide('ls', { mode: 'ask' })).toMatchObject({ decision: 'ask' });
  });

  test('the owner, where the sandbox did not hold its own test', async () => {
    const failed: SandboxProbe = { available: false, reason: 'Something got out of it.' };
    expect(await decide('ls', { sandbox: sandbox(failed) })).toMatchObject({
      decision: 'ask',
      reason: 'There is no sandbox, so each command needs your approval. Something got out of it.',
    });
  });

  test('the owner, who is told in one sentence what would change that', async () => {
    const reason = 'bubblewrap is not installed.';
    const none: SandboxProbe = { available: false, reason, remedy: 'apt install bubblewrap' };
    expect(await decide('ls', { sandbox: sandbox(none) })).toMatchObject({
      reason: 'There is no sandbox, so each command needs your approval. To change that: apt install bubblewrap.',
    });
  });

  test('the owner, when it wants to run outside', async () => {
    expect(await decide({ command: 'ls', outside: true })).toMatchObject({
      decision: 'ask',
      reason: expect.stringContaining('outside the sandbox'),
    });
  });

  test('the owner, when it wants the network, unless that is open to all', async () => {
    const params = { command: 'ls', network: true };
    expect(await decide(params)).toMatchObject({ decision: 'ask', reason: 'It wants to reach the network.' });
    expect(await decide(params, { network: true })).toEqual({ decision: 'allow' });
  });

  const UNTRUSTED = { untrusted: true, private: true, source: 'a web page' };
  const none: ExecOptions['landing'] = {
    ...VIEWS,
    probe: async () => ({ available: false, reason: 'the workspace is on overlayfs', remedy: 'Put it on a volume.' }),
  };
  const inUntrusted = async (params: Params, options: Partial<ExecOptions> = {}): Promise<ToolDecision> =>
    await decisionOf(tool(options), params, testToolContext({ workingDirectory: workspace, taint: UNTRUSTED }));

  test('nobody, in a conversation with untrusted text, where it runs on a view', async () => {
    expect(await inUntrusted({ command: 'make' })).toEqual({ decision: 'allow' });
  });

  test('the owner, in a conversation with untrusted text, where there is no view', async () => {
    expect(await inUntrusted({ command: 'make' }, { landing: none })).toMatchObject({
      decision: 'ask',
      reason:
        "This conversation contains text from a web page. There's no copy-on-write view because the workspace is on overlayfs, so what it changes takes effect before anyone can check it. Put it on a volume.",
    });
    expect(await decide('make', { landing: none })).toEqual({ decision: 'allow' });
  });

  test('the owner, in a conversation with untrusted text, when it is to run in the background', async () => {
    const background = { begin: () => Promise.reject(new Error('no')), folders: () => [] };
    const params = { command: 'make', background: true };
    expect(await inUntrusted(params, { background })).toMatchObject({
      decision: 'ask',
      reason: expect.stringContaining('It runs in the background'),
    });
    expect(await decide(params, { background })).toEqual({ decision: 'allow' });
  });

  test('the owner, when the network is open to all but there is no view, or it is to run in the background', async () => {
    const background = { begin: () => Promise.reject(new Error('no')), folders: () => [] };
    const options = { network: true, background };
    expect(await decide('ls', { ...options, landing: none })).toMatchObject({
      reason: expect.stringMatching(/^The command can reach the internet. There's no copy-on-write view/u),
    });
    expect(await decide({ command: 'ls', background: true }, options)).toMatchObject({ decision: 'ask' });
  });

  test.each(['sudo id', 'curl http://10.0.0.1/', 'crontab -e'])(
    'the owner, even in the mode full, about %s',
    async (command) => {
      expect(await decide(command, { mode: 'full' })).toMatchObject({ decision: 'ask' });
    },
  );

  test('nobody about a private host that the configuration opens', async () => {
    const options = { mode: 'full', allowHosts: ['10.0.0.1'] } as const;
    expect(await decide('curl http://10.0.0.1/', options)).toEqual({ decision: 'allow' });
  });
});

describe('what a command does, for the decision about strangers', () => {
  const action = async (params: Params, options: Partial<ExecOptions> = {}): Promise<string | undefined> => {
    const plan = await tool(options).plan(params, testToolContext());
    return 'denied' in plan ? undefined : plan.reaches?.action.kind;
  };

  test.each([
    [{ command: 'ls' }, {}, 'show-to-group'],
    [{ command: 'ls', network: true }, {}, 'networked-exec'],
    [{ command: 'ls', outside: true }, {}, 'networked-exec'],
    [{ command: 'ls' }, { network: true }, 'networked-exec'],
    [{ command: 'ls' }, { sandbox: null }, 'networked-exec'],
    [{ command: 'ls' }, { mode: 'full' }, 'networked-exec'],
  ] as const)('%j with %j is %s', async (params, options, kind) => {
    expect(await action(params, options)).toBe(kind);
  });
});

describe('what a command prints', () => {
  const bits = async (params: Params): Promise<Pick<ToolResult, 'untrusted' | 'private'>> => {
    const { untrusted, private: isPrivate } = await runPlanned(
      tool({ landing: { ...VIEWS, probe: async () => ({ available: false, reason: 'nothing is mounted here' }) } }),
      params,
      testToolContext({ workingDirectory: workspace }),
    );
    return {
      ...(untrusted === undefined ? {} : { untrusted }),
      ...(isPrivate === undefined ? {} : { private: isPrivate }),
    };
  };

  test('may be by strangers when it had the network', async () => {
    expect(await bits({ command: 'true' })).toEqual({ private: true });
    expect(await bits({ command: 'true', network: true })).toEqual({ private: true, untrusted: true });
  });
});

test.each([
  ['owner', 'direct', 'owner'],
  ['owner', 'group', 'trusted'],
  ['trusted', 'direct', 'trusted'],
  ['guest', 'direct', 'guest'],
] as const)('a command of a turn of %s in a %s chat sees the private files as %s', async (role, chatType, seen) => {
  let enclosedFor: string | undefined;
  const enclosing = sandbox(AVAILABLE, (request) => (enclosedFor = request.role));
  const context = testToolContext({ workingDirectory: workspace, role, chatType });
  await runPlanned(tool({ sandbox: enclosing }), { command: 'true' }, context);
  expect(enclosedFor).toBe(seen);
});

describe('what may be allowed for good', () => {
  test('is an exact program that only reads or prints, with its arguments', async () => {
    expect(await alwaysOf('ls a "b c"')).toEqual(['/usr/bin/ls', 'a', 'b c']);
  });

  test.each([
    ['a program by a relative path', './bin/own'],
    ['a program by a relative path that is found elsewhere too', 'sub/tool'],
    ['a program in the workspace', 'WORKSPACE/bin/own'],
    ['a link to a program in the workspace', 'linked'],
    ['a shell', 'sh -c id'],
    ['a shell by another name', 'harmless -c id'],
    ['a list of commands', 'tool a; tool b'],
    ['a variable', 'tool $HOME'],
    ['what is not there', 'nosuchprogram-here'],
    ['what a shell does itself, whatever program has the name', 'echo hi'],
    ['a program of which nobody knows what it runs', 'tool a'],
    ['git where it runs hooks', 'git commit --allow-empty -m wip'],
    ['git with a setting that names a program', 'git -c core.pager=./x log'],
    ['git with an option that runs a program', 'git diff --ext-diff'],
  ])('is not %s', async (_, command) => {
    expect(await alwaysOf(command.replace('WORKSPACE', workspace))).toBeUndefined();
  });

  test('is not a program in the workspace, though the workspace itself is named by a link', async () => {
    const link = join(await realpath(folder.path), 'link');
    await symlink(workspace, link);
    for (const command of ['linked', `${workspace}/bin/own`, `${link}/bin/own`]) {
      expect(await alwaysOf(command, { workspace: link }), command).toBeUndefined();
    }
  });

  test('is offered with another hash for each thing that could differ', async () => {
    const hashOf = async (command: string, params: Params = {}): Promise<string | undefined> => {
      const decision = await decide({ command, ...params }, { mode: 'ask' });
      return decision.decision === 'ask' ? decision.request.always?.hash : undefined;
    };
    const hashes = await Promise.all([
      hashOf('ls a'),
      hashOf('ls b'),
      hashOf('ls a', { cwd: 'bin' }),
      hashOf('ls a', { network: true }),
      hashOf('ls a', { outside: true }),
    ]);
    expect(hashes).not.toContain(undefined);
    expect(new Set(hashes).size).toBe(hashes.length);
    expect(await hashOf('ls  "a"')).toBe(hashes[0]);
  });

  test('runs without a question, but not what only begins like it', async () => {
    const options = { sandbox: null, allowCommands: [`${join(programs, 'tool')} a`] };
    expect(await decide('tool a', options)).toMatchObject({ decision: 'allow' });
    for (const command of ['tool a b', 'tool', 'tool b']) {
      expect(await decide(command, options)).toMatchObject({ decision: 'ask' });
    }
  });

  test('runs without a question when somebody said so, and only with the same hash', async () => {
    const asked = await decide('ls a', { sandbox: null });
    const hash = asked?.decision === 'ask' ? asked.request.always?.hash : undefined;
    const options = { sandbox: null, isRemembered: (one: string) => one === hash };
    expect(await decide('ls a', options)).toMatchObject({ decision: 'allow' });
    expect(await decide('ls b', options)).toMatchObject({ decision: 'ask' });
  });

  test.each(['ls a', 'tool a'])(
    'counts in no conversation with text from others, and nothing is offered for good there: %s',
    async (command) => {
      const options = { sandbox: null, isRemembered: () => true, allowCommands: [`${join(programs, 'tool')} a`] };
      expect(await decide(command, options)).toMatchObject({ decision: 'allow' });
      const taint = { untrusted: true, private: false };
      const context = testToolContext({ workingDirectory: workspace, taint });
      const decision = await decisionOf(tool(options), { command }, context);
      expect(decision).toMatchObject({ decision: 'ask' });
      expect(decision?.decision === 'ask' && 'always' in decision.request).toBe(false);
    },
  );

  test('does not count while a file with text from others lies in its folder or the repository around it', async () => {
    const repository = join(workspace, 'repository');
    await mkdir(join(repository, '.git'), { recursive: true });
    await mkdir(join(repository, 'src'));
    await writeFile(join(repository, 'page.md'), 'from a page');
    const marks = openMarks({ workspace });
    const options = {
      sandbox: null,
      marks,
      isRemembered: () => true,
      allowCommands: [`${join(programs, 'tool')} a`],
    };
    const commands = ['git status', 'ls -l', 'tool a'].map((command) => ({ command, cwd: 'repository/src' }));
    for (const params of commands) expect(await decide(params, options)).toMatchObject({ decision: 'allow' });
    await marks.record([{ path: 'repository/page.md' }], 'outside');
    for (const params of commands) {
      expect(await decide(params, options), params.command).toMatchObject({
        decision: 'ask',
        reason: expect.stringContaining('It was allowed for good, but files in its folder hold text from others.'),
      });
    }
    // What looks at no file, and what looks at another folder, is not meant.
    expect(await decide({ command: 'uname', cwd: 'repository/src' }, options)).toMatchObject({ decision: 'allow' });
    expect(await decide({ command: 'ls -l', cwd: 'bin' }, options)).toMatchObject({ decision: 'allow' });
  });

  test('does not hold against a refusal of the command guard', async () => {
    const options = { mode: 'full', isRemembered: () => true } as const;
    expect(await decide('rm -rf /', options)).toMatchObject({ decision: 'deny' });
  });
});
