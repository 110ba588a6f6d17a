import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, readdir, realpath, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, relative, resolve } from 'node:path';
import {
  type CommandWords,
  type Marks,
  approvalHash,
  exactWords,
  findProgram,
  folded,
  runsOthers,
  within,
} from '../../core/api-commands.ts';

/** What a program that only reads and prints looks at. */
export type ReadSubject = 'machine' | 'files';

/** Programs that only read and print, regardless of the files around them, and arguments with which they do more. */
const READERS: readonly (readonly [programs: string, subject: ReadSubject, never?: RegExp])[] = [
  [
    'cal ncal uptime uname arch nproc free df lsblk lscpu lsusb lspci lsmem vmstat sensors id whoami groups users who w last tty ps pgrep pidof pstree getconf seq factor which whereis',
    'machine',
  ],
  ['date', 'machine', /^-[^-]*[sf]|^--[sf]/u],
  ['hostname', 'machine', /^[^-]|^-[^-]*[Fb]|^--[fb]/u],
  [
    'ls dir vdir cat tac head tail wc nl stat du cmp comm cut paste join fold fmt expand unexpand column od hexdump strings basename dirname realpath readlink md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum grep egrep fgrep jq',
    'files',
  ],
  ['diff', 'files', /^-[^-]*l|^--p/u],
  ['file', 'files', /^-[^-]*[CzZ]|^--(?:c|u)/u],
  ['tree', 'files', /^-[^-]*[oR]|^--o/u],
  ['git', 'files', /^-[^-]*O|^--(?:ex|te|out|op|pag|up|fi|show-s)|%G/u],
];
const GIT_READS =
  /^(?:status|log|diff|show|rev-parse|rev-list|ls-files|ls-tree|describe|shortlog|blame|count-objects)$/u;
/** Programs and builtins beside those that change nothing by themselves, and searches with what they do more. */
const HARMLESS = /^(?:cd|pwd|echo|printf|test|\[|true|false|type|sleep|<)$/u;
const SEARCHES: Readonly<Record<string, RegExp>> = {
  find: /^-(?:delete|exec|ok|fprint|fls)/u,
  rg: /^--(?:pre|hostname-bin)/u,
};

/** Builtins of shells, which take precedence over programs of the same name. */
const BUILTINS =
  /^(?:\.|:|\[|\[\[|alias|bg|bind|break|builtin|caller|case|cd|command|compgen|complete|compopt|continue|coproc|declare|dirs|disown|do|done|echo|elif|else|enable|esac|eval|exec|exit|export|false|fc|fg|fi|for|function|getopts|hash|help|history|if|in|jobs|kill|let|local|logout|mapfile|popd|printf|pushd|pwd|read|readarray|readonly|return|select|set|shift|shopt|source|suspend|test|then|time|times|trap|true|type|typeset|ulimit|umask|unalias|unset|until|wait|while)$/u;
/** What a program looks at, if these arguments let it do no more than read and print; null for every other. */
export function readSubject(name: string, args: readonly string[]): ReadSubject | null {
  const [, subject = null, never] = READERS.find(([programs]) => programs.split(' ').includes(name)) ?? [];
  if (name === 'git' && !GIT_READS.test(args[0] ?? '')) return null;
  return never !== undefined && args.some((arg) => never.test(arg)) ? null : subject;
}

/**
 * Whether a command only looks, by the names of its programs: that it found nothing is then no failure worth telling. No
 * guard: what may run is decided elsewhere. What is not read counts as a change.
 */
export function onlyReads({ invocations, unread }: CommandWords): boolean {
  const looks = ({ name, args }: (typeof invocations)[number]): boolean => {
    if (name === '>') return args[0] === '/dev/null';
    const more = Object.hasOwn(SEARCHES, name) ? SEARCHES[name] : undefined;
    if (more !== undefined) return !args.some((arg) => more.test(arg));
    return HARMLESS.test(name) || readSubject(name, args) !== null;
  };
  return unread === undefined && invocations.length > 0 && invocations.every(looks);
}

/** One program with fixed arguments, which can be allowed for all later runs. */
export interface ForGood {
  /** The absolute path of the program, then its arguments. */
  readonly program: readonly string[];
  /** Of the program, its arguments, the folder and the circumstances. */
  readonly hash: string;
  /** What it reads, if it only reads and prints; such a command may be allowed from a chat. Null: only in the configuration. */
  readonly reads: ReadSubject | null;
  /** Why it needs no question; undefined: it does. */
  readonly why: string | undefined;
  /** Strangers had a part in files around it, so that it may do something else now. */
  readonly isDoubtful: boolean;
}

interface Place {
  readonly folder: string;
  /** In which the program is searched. */
  readonly path: string;
  readonly circumstances: Readonly<Record<string, unknown>>;
  readonly workspace: string;
  readonly allowCommands?: readonly string[];
  readonly isRemembered?: (hash: string) => boolean;
  readonly marks?: Marks;
}

/**
 * The form in which a command can be allowed for all later runs. Null unless it is one program with literal arguments; null
 * also for programs that run others, and for programs in the workspace, because the assistant may change those.
 */
export async function allowedForGood(command: string, place: Place): Promise<ForGood | null> {
  const [name = '', ...args] = exactWords(command) ?? [];
  if (name === '' || (!isAbsolute(name) && (name.includes('/') || BUILTINS.test(name)))) return null;
  const file = isAbsolute(name) ? normalize(name) : findProgram(name, place.path);
  const real = file === undefined ? null : await realpath(file).catch(() => null);
  if (file === undefined || real === null || !(await stat(real)).isFile()) return null;
  const workspace = await realpath(place.workspace);
  const places = [file, real];
  if (places.some((one) => runsOthers(basename(one)) || within(workspace, one) || within(place.workspace, one)))
    return null;
  const program = [file, ...args];
  const subjects = places.map((one) => readSubject(basename(one), args));
  const reads = subjects.includes(null) ? null : (subjects[0] ?? null);
  const hash = approvalHash({ program, folder: place.folder, ...place.circumstances });
  const isListed = (place.allowCommands ?? []).some(
    (listed) => JSON.stringify(exactWords(listed.trim())) === JSON.stringify(program),
  );
  const isRemembered = reads !== null && place.isRemembered?.(hash) === true;
  const why = isListed
    ? 'tools.exec.allowCommands lists it'
    : isRemembered
      ? 'an owner allowed it for good'
      : undefined;
  const around = async (): Promise<boolean> =>
    place.marks?.holdsBelow(await repositoryOf(place.folder, workspace)) === true;
  const isDoubtful = why !== undefined && reads !== 'machine' && (await around());
  return { program, hash, reads, why, isDoubtful };
}

/** Root of the Git repository in which a folder of the workspace lies; the folder itself when there is none. */
async function repositoryOf(folder: string, root: string): Promise<string> {
  for (let at = folder; within(root, at); at = dirname(at)) {
    const found = await stat(join(at, '.git')).catch(() => null);
    if (found !== null) return at;
    if (at === root) break;
  }
  return folder;
}

/** Signs that end a word in a shell, and those that join two parts of one. */
const BETWEEN = /[\s'"`;|&()<>{}$=:,\\!*?[\]]+/u;
const PACKAGE = ['package.json'];
/** Files that programs run without their being named. */
const IMPLIED: Readonly<Record<string, readonly string[]>> = {
  make: ['GNUmakefile', 'makefile', 'Makefile'],
  just: ['justfile', 'Justfile', '.justfile'],
  npm: PACKAGE,
  npx: PACKAGE,
  pnpm: PACKAGE,
  yarn: PACKAGE,
  bun: PACKAGE,
  rake: ['Rakefile'],
  cmake: ['CMakeLists.txt'],
  cargo: ['Cargo.toml', 'build.rs'],
  tox: ['tox.ini'],
  pytest: ['conftest.py', 'pytest.ini', 'pyproject.toml'],
};
/** Longer words are no paths. */
const LONGEST_WORD = 4_096;
const MOST_FOLDERS = 8;
/** Larger files are identified by inode, size and times instead of a digest, bytes. */
const MOST_HASHED_BYTES = 16 * 1024 * 1024;

/**
 * The files of the workspace that a command names, with a value that changes with their content: programs and scripts
 * that it may run, and files that it may hand to one. Every word counts, because it cannot be known which will be run.
 */
export async function namedFiles(
  command: string,
  { invocations, home }: Pick<CommandWords, 'invocations' | 'home'>,
  { folder, workspace }: { readonly folder: string; readonly workspace: string },
): Promise<Readonly<Record<string, string>>> {
  const named = invocations.flatMap(({ name, args }) => [name, ...args]);
  const parts = [...named, ...named.flatMap((word) => word.split(BETWEEN))];
  // In the sandbox `~` is the workspace.
  const inSandbox = parts.filter((part) => within(home, part)).map((part) => join(workspace, relative(home, part)));
  const implied = invocations.flatMap(({ name }) => IMPLIED[name] ?? []);
  const words = new Set([...command.split(BETWEEN), ...parts, ...inSandbox, ...implied]);
  const found = new Map<string, string>();
  // Also the folders that it names, in which relative names may be meant too.
  const folders = [folder];
  for (let at = 0; at < Math.min(folders.length, MOST_FOLDERS); at += 1) {
    const base = folders[at] ?? folder;
    // Of many words few name anything, so each is first looked for in the list of the folder.
    const names = new Set((await readdir(base).catch(() => [])).map(folded));
    for (const word of words) {
      if (word === '' || word.length > LONGEST_WORD || word.includes('\0')) continue;
      if (!/^(?:\/|\.{1,2}(?:\/|$))/u.test(word) && !names.has(folded(word.split('/', 1)[0] ?? ''))) continue;
      const path = resolve(base, word);
      const content = found.has(path) || !within(workspace, path) ? null : await look(path);
      if (content === null) continue;
      found.set(path, content);
      if (content === 'folder') folders.push(path);
    }
  }
  return Object.fromEntries([...found].filter(([, content]) => content !== 'folder'));
}

/** `folder` for folders, null where there is neither a file nor a folder. Links are followed. */
async function look(path: string): Promise<string | null> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(() => null);
  if (handle === null) return null;
  try {
    const found = await handle.stat({ bigint: true });
    if (found.isDirectory()) return 'folder';
    if (!found.isFile()) return null;
    const { dev, ino, size, mtimeNs, ctimeNs } = found;
    if (size > MOST_HASHED_BYTES) return `large ${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}`;
    return createHash('sha256')
      .update(await handle.readFile())
      .digest('hex');
  } finally {
    await handle.close();
  }
}
