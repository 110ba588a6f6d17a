import type { LastingTarget } from '../access/taint.ts';

const ASCII = /^[\0-\x7f]*$/;

/**
 * A name as the most lenient file system compares it: ignoring case, width, composition and invisible characters, so
 * that a protected name is protected in every spelling that could open it.
 */
export function folded(name: string): string {
  if (ASCII.test(name)) return name.toLowerCase();
  return name
    .normalize('NFKC')
    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
    .toUpperCase()
    .toLowerCase();
}

const BOOTSTRAP_FILES = ['SOUL.md', 'AGENTS.md', 'USER.md', 'TOOLS.md', 'HEARTBEAT.md'];
const PROTECTED_FILES = new Set(BOOTSTRAP_FILES.map(folded));
/** Names at the top of the workspace that mean something: what they lead to means the same. */
export const MEANT_NAMES: readonly string[] = ['memory', 'skills', ...BOOTSTRAP_FILES];

/** What kind of protected file a path in the workspace is; undefined for any other. `parts`: folded names below it. */
export function protectedAs(parts: readonly string[]): LastingTarget | undefined {
  const [first = ''] = parts;
  if (parts.length === 1 && PROTECTED_FILES.has(first)) return 'bootstrap';
  if (first === 'memory' || first === 'skills') return first;
  // Git runs or follows what is below, and `.git` itself may be a file that leads it elsewhere.
  return parts.includes('.git') ? 'bootstrap' : undefined;
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
/** Places that make other programs start automatically. */
const OTHER_START = new Set([
  '.gitconfig',
  '.config/git',
  '.config/autostart',
  '.config/systemd',
  'library/launchagents',
  'library/launchdaemons',
]);
/** Writing here changes the machine, not a project. */
const SYSTEM_START = ['/etc', '/boot', '/usr', '/bin', '/sbin', '/lib', '/lib64', '/var/spool/cron', '/library'];

/**
 * Why a path counts as a place for credentials, as the end of a sentence; undefined for any other. `parts`: folded
 * names below a root, or of an absolute path with an empty first one.
 */
export function secretKind(parts: readonly string[]): string | undefined {
  const name = parts.at(-1) ?? '';
  const place = names(parts, SECRET_FOLDERS) || SECRET_FILES.has(name) || lies(parts, SYSTEM_SECRETS);
  if (place) return 'is a place for credentials';
  if (name.startsWith('.env') && !NO_SECRETS.has(name)) return 'usually holds secrets';
  return KEY_FILE.test(name) ? 'looks like a private key' : undefined;
}

/** The same for files that a shell runs when it starts. */
export function shellStartKind(parts: readonly string[]): string | undefined {
  return names(parts, SHELL_START) ? 'is run whenever a shell starts' : undefined;
}

/** The same for files that are run automatically by a shell, a session, git or the system. */
export function startKind(parts: readonly string[]): string | undefined {
  if (names(parts, OTHER_START)) return 'makes other programs run by themselves';
  return lies(parts, SYSTEM_START) ? 'belongs to the system, not to a project' : shellStartKind(parts);
}

/** Whether the set has one of the names, or two successive ones joined by a slash. */
function names(parts: readonly string[], set: ReadonlySet<string>): boolean {
  return parts.some((part, i) => set.has(part) || set.has(`${part}/${parts[i + 1] ?? ''}`));
}

/** Whether an absolute path is, or liesIn below, one of these places. */
function lies(parts: readonly string[], places: readonly string[]): boolean {
  const path = `${parts.join('/')}/`;
  return parts[0] === '' && places.some((place) => path.startsWith(`${place}/`));
}

/** Whether a relative path that comes from elsewhere stays below the folder that it's joined to. */
export function isBelow(path: string): boolean {
  return path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/u.test(part));
}
