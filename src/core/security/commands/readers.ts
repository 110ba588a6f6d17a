/** What a program that only reads and prints looks at. */
export type ReadSubject = 'machine' | 'files';

interface Reader {
  readonly subject: ReadSubject;
  /** Arguments with which it would write, set or run something, also shortened ones. */
  readonly never?: RegExp;
  /** Its first argument is one of these. */
  readonly actions?: ReadonlySet<string>;
}

const words = (text: string): readonly string[] => text.split(' ');
const all = (text: string, reader: Reader): readonly (readonly [string, Reader])[] =>
  words(text).map((name) => [name, reader]);

/**
 * Programs that only read and print, regardless of the files around them. Other programs may run what those files
 * contain: hooks, plugins, settings, scripts.
 */
const READERS: ReadonlyMap<string, Reader> = new Map([
  ...all(
    'cal ncal uptime uname arch nproc free df lsblk lscpu lsusb lspci lsmem vmstat sensors id whoami groups users who w last tty ps pgrep pidof pstree getconf seq factor which whereis',
    { subject: 'machine' },
  ),
  ...all('date', { subject: 'machine', never: /^-[^-]*[sf]|^--[sf]/u }),
  ...all('hostname', { subject: 'machine', never: /^[^-]|^-[^-]*[Fb]|^--[fb]/u }),
  ...all(
    'ls dir vdir cat tac head tail wc nl stat du cmp comm cut paste join fold fmt expand unexpand column od hexdump strings basename dirname realpath readlink md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum grep egrep fgrep jq',
    { subject: 'files' },
  ),
  ...all('diff', { subject: 'files', never: /^-[^-]*l|^--p/u }),
  ...all('file', { subject: 'files', never: /^-[^-]*[CzZ]|^--(?:c|u)/u }),
  ...all('tree', { subject: 'files', never: /^-[^-]*[oR]|^--o/u }),
  ...all('git', {
    subject: 'files',
    actions: new Set(
      words('status log diff show rev-parse rev-list ls-files ls-tree describe shortlog blame count-objects'),
    ),
    never: /^-[^-]*O|^--(?:ex|te|out|op|pag|up|fi|show-s)|%G/u,
  }),
]);

/** What a program looks at, if these arguments let it do no more than read and print; null for every other. */
export function readSubject(name: string, args: readonly string[]): ReadSubject | null {
  const reader = READERS.get(name);
  if (reader === undefined) return null;
  const { subject, never, actions } = reader;
  if (actions !== undefined && !actions.has(args[0] ?? '')) return null;
  return never !== undefined && args.some((arg) => never.test(arg)) ? null : subject;
}
