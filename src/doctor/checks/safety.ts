import { mkdtemp, rm } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { obstacle } from '../../core/landing/self-test.ts';
import { probeSandbox } from '../../core/security/enclosure/probe.ts';
import { note, ok, skipped, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const safetyChecks = checksOn('safety', [
  ['sandbox.mode', 'commands have a sandbox or need an approval', mode],
  [
    'sandbox.works',
    'the sandbox can be made on this machine, nothing gets out of it, and commands can work on a view of the workspace',
    works,
    LIVE,
  ],
]);

/** Less than the deadline of a check, milliseconds. */
const SANDBOX_MS = 9_000;

function mode({ loaded, command }: Scene): readonly Found[] {
  if (loaded === null) return [];
  const { mode: set, sandbox } = loaded.config.tools.exec;
  if (set === 'full') {
    return [
      warning(
        'tools.exec.mode is "full": commands run without a sandbox and without a question.',
        command('config set tools.exec.mode auto'),
      ),
    ];
  }
  if (set === 'off') return [ok('No commands are run (tools.exec.mode is "off").')];
  if (sandbox === 'off')
    return [note('tools.exec.sandbox is "off", so each command asks.', command('config set tools.exec.sandbox auto'))];
  return [ok(set === 'ask' ? 'Each command asks.' : 'Commands run in the sandbox, or ask.')];
}

async function works(scene: Scene): Promise<readonly Found[]> {
  const { loaded, paths, clock, random, host } = scene;
  const { mode: set, sandbox } = loaded?.config.tools.exec ?? { mode: 'auto', sandbox: 'auto' };
  if (set === 'off' || set === 'full' || sandbox === 'off') return [skipped('The configuration uses no sandbox.')];
  // Not in the home: nothing is written there.
  const folder = await mkdtemp(join(tmpdir(), 'assistant-doctor-'));
  try {
    const program = host.root === '/' ? {} : { program: join(host.root, 'usr/bin/bwrap') };
    const probe = await probeSandbox({ folder, clock, random, timeoutMs: SANDBOX_MS, ...program });
    if (probe.available) return [ok(['The sandbox works.', ...probe.notes].join(' ')), ...views(paths.workspace)];
    const sudo = host.uid === 0 ? '' : 'sudo ';
    const says = `There is no sandbox, so each command asks: ${probe.reason}`;
    if (probe.late === true) return [skipped(probe.reason)];
    const remedy =
      probe.remedy === undefined
        ? kernelRemedy(host.root, sudo)
        : `${probe.remedy.startsWith('install ') ? '' : sudo}${probe.remedy}`;
    return [warning(says, remedy)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Whether something stands in the way of copy-on-write views. The assistant itself tries one at its first such command. */
function views(workspace: string): readonly Found[] {
  if (!existsSync(workspace)) return [];
  const found = obstacle(workspace);
  if (found === undefined) return [ok('Nothing stands in the way of copy-on-write views of the workspace.')];
  return [
    note(
      `There is no copy-on-write view because ${found.reason}, so commands in conversations with text from others ask.`,
      found.remedy?.replace(/\.$/u, '') ?? null,
    ),
  ];
}

/** What keeps a process without rights from making namespaces: a setting of the kernel, its value, and the one that lets it. */
const HINDRANCES = [
  ['kernel.apparmor_restrict_unprivileged_userns', '1', '0'],
  ['kernel.unprivileged_userns_clone', '0', '1'],
  ['user.max_user_namespaces', '0', '15000'],
] as const;

/** What lets a process without rights make namespaces on this machine. */
function kernelRemedy(root: string, sudo: string): string {
  const has = (name: string, value: string): boolean => {
    try {
      return readFileSync(join(root, 'proc/sys', name.replaceAll('.', '/')), 'utf8').trim() === value;
    } catch {
      return false;
    }
  };
  const [name, , right] = HINDRANCES.find(([setting, value]) => has(setting, value)) ?? [];
  if (name === undefined)
    return 'In a container, see docs/docker.md; elsewhere allow user namespaces to processes without rights';
  return `${sudo}sysctl -w ${name}=${right}`;
}
