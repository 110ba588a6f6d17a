import type { LastingTarget } from '../access/taint.ts';

/**
 * A name as the most forgiving file system compares it: without case, width, composition and characters that are not
 * seen. What is protected by name is protected under every spelling that could lead to it anywhere.
 */
export function folded(name: string): string {
  return name
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase();
}

const PROTECTED_FILES = new Set(['soul.md', 'agents.md', 'user.md', 'tools.md', 'heartbeat.md']);

/** Names in the workspace that mean something to the assistant; each may be a link to where the file really lies. */
export const WORKSPACE_NAMES: readonly string[] = [
  'SOUL.md',
  'AGENTS.md',
  'USER.md',
  'TOOLS.md',
  'HEARTBEAT.md',
  'memory',
  'skills',
  'cron',
  '.git',
];

/** Of those, what belongs to the owner alone. */
export const PRIVATE_NAMES: readonly string[] = ['memory', 'USER.md'];

/** In a repository: what makes git run programs. */
const GIT_PROGRAMS = new Set(['hooks', 'config', 'config.worktree', 'commondir']);

/** What a protected place in the workspace is; undefined for any other. `parts`: folded names below the workspace. */
export function protectedAs(parts: readonly string[]): LastingTarget | undefined {
  const [first = ''] = parts;
  if (parts.length === 1 && PROTECTED_FILES.has(first)) return 'bootstrap';
  if (first === 'memory' || first === 'skills') return first;
  const git = parts.indexOf('.git');
  if (git < 0) return undefined;
  // A `.git` that is a file says where the repository is, hooks and all.
  const inside = parts.slice(git + 1);
  return inside.length === 0 || inside.some((part) => GIT_PROGRAMS.has(part)) ? 'bootstrap' : undefined;
}

const SECRET_FOLDERS = new Set([
  '.ssh',
  '.aws',
  '.azure',
  '.gnupg',
  '.kube',
  '.docker',
  '.password-store',
  '.config/gcloud',
  '.config/gh',
  '.config/rclone',
]);
const SYSTEM_SECRETS = ['/run/secrets', '/run/credentials', '/etc/shadow', '/etc/gshadow'];
const SECRET_FILES = new Set([
  '.netrc',
  '.npmrc',
  '.pypirc',
  '.pgpass',
  '.my.cnf',
  '.git-credentials',
  '.htpasswd',
  '.vault-token',
  '.s3cfg',
  '.boto',
]);
const NO_SECRETS = new Set(['.env.example', '.env.sample', '.env.template', '.env.dist']);
const KEY_FILE = /^id_(?:rsa|dsa|ecdsa|ecdsa_sk|ed25519|ed25519_sk)$|\.(?:pem|key|p12|pfx|ppk|jks|keystore|kdbx)$/;

const SHELL_START = new Set([
  '.bashrc',
  '.bash_profile',
  '.bash_login',
  '.bash_logout',
  '.bash_aliases',
  '.profile',
  '.zshrc',
  '.zshenv',
  '.zprofile',
  '.zlogin',
  '.zlogout',
  '.kshrc',
  '.cshrc',
  '.tcshrc',
  '.login',
  '.xprofile',
  '.xsession',
  '.xinitrc',
  '.pam_environment',
  'config.fish',
  'fish/conf.d',
]);
/** From where other programs are started by themselves. */
const OTHER_START = new Set([
  '.gitconfig',
  '.config/git',
  '.config/autostart',
  '.config/systemd',
  'library/launchagents',
  'library/launchdaemons',
]);
/** Whatever is written there changes the machine, not a project. */
const SYSTEM_START = ['/etc', '/boot', '/usr', '/bin', '/sbin', '/lib', '/lib64', '/var/spool/cron', '/library'];

/** Each name that counts for `startKind`: the parts of paths. */
export const START_NAMES: readonly string[] = [
  ...new Set([...SHELL_START, ...OTHER_START, ...SYSTEM_START, '.ssh'].flatMap((place) => place.split('/'))),
].filter((name) => name !== '');

/**
 * What a place for credentials is, as the end of a sentence; undefined for any other. `parts`: folded names, below a
 * root or, for a whole path, with an empty one first.
 */
export function secretKind(parts: readonly string[]): string | undefined {
  const name = parts.at(-1) ?? '';
  const place = names(parts, SECRET_FOLDERS) || SECRET_FILES.has(name) || lies(parts, SYSTEM_SECRETS);
  if (place) return 'is a place for credentials';
  if (name.startsWith('.env') && !NO_SECRETS.has(name)) return 'usually holds secrets';
  return KEY_FILE.test(name) ? 'looks like a private key' : undefined;
}

/** The same for what is run without anybody calling it: by a shell. */
export function shellStartKind(parts: readonly string[]): string | undefined {
  return names(parts, SHELL_START) ? 'is run whenever a shell starts' : undefined;
}

/** The same for what is run without anybody calling it: by a shell, a session, git or the system. */
export function startKind(parts: readonly string[]): string | undefined {
  if (names(parts, OTHER_START)) return 'makes other programs run by themselves';
  return lies(parts, SYSTEM_START) ? 'belongs to the system, not to a project' : shellStartKind(parts);
}

/** Whether one of the names, or two that follow each other, are in the set. */
function names(parts: readonly string[], set: ReadonlySet<string>): boolean {
  return parts.some((part, i) => set.has(part) || set.has(`${part}/${parts[i + 1] ?? ''}`));
}

function lies(parts: readonly string[], places: readonly string[]): boolean {
  const path = `${parts.join('/')}/`;
  return parts[0] === '' && places.some((place) => path.startsWith(`${place}/`));
}
