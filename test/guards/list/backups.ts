import { guardsIn, type Guard } from '../guard.ts';

const BACKUP = 'cli/backup.test.ts';

/** What a backup shows to others, and what an archive may put where. */
export const BACKUP_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'backup/unpack.ts',
    [BACKUP],
    [
      {
        name: 'archives-hashes',
        holds: 'A file that is not what its hash says is not restored.',
        find: 'if (found !== sha256) throw',
        replace: 'if (found === undefined) throw',
      },
      {
        name: 'archives-extra',
        holds: 'A file that is not in the list of an archive is not restored.',
        find: 'if (extra !== undefined) throw',
        replace: 'if (extra === null) throw',
      },
      {
        name: 'archives-twice',
        holds: 'No file of an archive takes the place of another.',
        find: 'if (hashes.has(read.path)) throw',
        replace: 'if (hashes.has(`${read.path}/`)) throw',
      },
      {
        name: 'archives-links-out',
        holds: 'No link that leads out of the home is restored.',
        find: 'if (!isWithin(home, resolve(dirname(inHome), target))) return false;',
        replace: '',
      },
      {
        name: 'archives-links-behind',
        holds: 'No link is made through another link.',
        find: 'if (above.some((one) => links.has(one))) return false;',
        replace: '',
      },
      {
        name: 'archives-links-place',
        holds: 'No link is made outside of the home.',
        find: 'if (!isWithin(home, inHome) || inHome === home) return false;',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'backup/purge.ts',
    ['cli/uninstall.test.ts'],
    [
      {
        name: 'purge-home',
        holds: 'Only the home of an assistant is deleted, and no folder that holds more.',
        find: 'if (isHome && !holdsMore) return;',
        replace: 'if (isHome) return;',
      },
      {
        name: 'purge-signs',
        holds: 'A folder that is not a home is not deleted.',
        find: 'const isHome = SIGNS.every((name) => existsSync(join(home, name)));',
        replace: 'const isHome = SIGNS.some((name) => existsSync(join(home, name)));',
      },
    ],
  ),
  ...guardsIn(
    'launcher.cjs',
    ['start/launcher.test.ts'],
    [
      {
        name: 'launcher-owner',
        holds: 'No one runs a program that another user chose.',
        find: 'if (process.getuid && fs.statSync(pointer).uid !== process.getuid()) return null;',
        replace: '',
      },
      {
        name: 'launcher-version',
        holds: 'The choice of a program leads nowhere but into the folder of programs.',
        find: String.raw`|| !/^\d[\w.+-]*$/.test(current.version)`,
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'storage/stream-file.ts',
    [BACKUP],
    [
      {
        name: 'archives-mode',
        holds: 'A backup can be read by its owner only.',
        find: "const handle = await open(partial, 'wx', 0o600);",
        replace: "const handle = await open(partial, 'wx', 0o644);",
      },
    ],
  ),
];
