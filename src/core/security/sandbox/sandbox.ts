import { lstat, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import type { Role } from '../../bus/messages.ts';
import { AppError } from '../../util/errors.ts';
import { within } from '../paths/rules.ts';
import { GitKeeper } from './git-keeper.ts';
import { removeLimitGroups } from './cgroups.ts';
import { launch, type SandboxedCommand } from './launch.ts';
import { ensureProtectedPlaces } from '../enclosure/protected-places.ts';
import { probeSandbox, type ProbeOptions, type SandboxProbe } from './probe.ts';
import type { HiddenPlace } from './profile.ts';

export interface SandboxOptions extends ProbeOptions {
  /** Folders of the workspace that commands cannot change, beside those of the core. */
  readonly protectedFolders: readonly string[];
  /** The assistant's home; nothing of it is visible inside but the workspace and read roots that lie in it. */
  readonly home: string;
  /** The home of the main assistant that `home` lies in, not visible either; null: it lies in none. @default null */
  readonly host?: string | null;
  readonly workspace: string;
  /** What every command may read beside the workspace: skill folders, `tools.readRoots`. Missing ones are left out. */
  readonly readRoots: readonly string[];
}

export interface CommandRequest {
  /** A program and its arguments. */
  readonly command: readonly string[];
  /** An existing folder in the workspace. */
  readonly cwd: string;
  /** For roles other than owner, `memory/` and `USER.md` are hidden. */
  readonly role: Role;
  /** @default false */
  readonly network?: boolean;
  /** What this command alone may read: its session's spill and media. */
  readonly readRoots?: readonly string[];
  /** All that the command sees of an environment. */
  readonly environment: Readonly<Record<string, string>>;
}

export interface Sandbox extends AsyncDisposable {
  /**
   * Whether it holds on this machine. Tested at the first call, and again after a test that took too long; never
   * rejects.
   */
  probe(): Promise<SandboxProbe>;
  /** What to spawn. Throws `sandbox-unavailable`, `sandbox-place` or `sandbox-folder` rather than let anything out. */
  wrap(request: CommandRequest): Promise<SandboxedCommand>;
  /** Keeps what commands write in repositories from being run by the owner's git. @default nothing does */
  readonly git?: GitKeeper;
}

/** Credentials directly in a read root. */
const SECRETS = [
  '.ssh',
  '.aws',
  '.gnupg',
  '.kube',
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.git-credentials',
  '.env',
];

/** The machine is tested once in a process, however many assistants run in it. */
const held: NonNullable<ProbeOptions['held']> = new Map();

/** Commands enclosed by bubblewrap. Nothing is tested or made before the first call. */
export function createSandbox(options: SandboxOptions): Sandbox {
  let probing: Promise<SandboxProbe> | undefined;
  const probe = (): Promise<SandboxProbe> =>
    (probing ??= probeSandbox({ held, ...options }).then((found) => {
      if (!found.available && found.late === true) probing = undefined;
      return found;
    }));
  return {
    probe,
    git: new GitKeeper(options.workspace, options.clock),
    async wrap({ command, cwd, role, network = false, readRoots = [], environment }) {
      const found = await probe();
      if (!found.available) throw new AppError('sandbox-unavailable', found.reason);
      const home = await realpath(options.home);
      const workspace = await realpath(options.workspace);
      const folder = await realpath(cwd);
      if (!within(workspace, folder)) {
        throw new AppError('sandbox-folder', `${cwd} is outside the workspace; commands start only inside it.`);
      }
      const roots = await existing([...options.readRoots, ...readRoots]);
      const protectedPaths = await ensureProtectedPlaces(workspace, options.protectedFolders);
      const hidden = (await Promise.all(roots.map(secretsIn))).flat();
      const profile = {
        home,
        host: options.host == null ? undefined : await realpath(options.host),
        workspace,
        cwd: folder,
        owner: role === 'owner',
        network,
        readRoots: roots,
        hidden,
        protectedPaths,
        environment,
      };
      return launch(command, profile, found.engine);
    },
    async [Symbol.asyncDispose]() {
      const found = await probing;
      if (found?.available === true) await removeLimitGroups(found.groups);
    },
  };
}

/** The real paths of the paths that exist. */
async function existing(paths: readonly string[]): Promise<readonly string[]> {
  const real = await Promise.all(paths.map((path) => realpath(path).catch(() => undefined)));
  return [...new Set(real.filter((path) => path !== undefined))];
}

async function secretsIn(root: string): Promise<readonly HiddenPlace[]> {
  const found = await Promise.all(
    SECRETS.map(async (name) => {
      const path = join(root, name);
      const facts = await lstat(path).catch(() => undefined);
      // What a link leads to is visible only if another root holds it.
      if (facts === undefined || facts.isSymbolicLink()) return [];
      return [{ path, folder: facts.isDirectory() }];
    }),
  );
  return found.flat();
}
