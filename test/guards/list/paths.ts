import { guardsIn, type Guard } from '../guard.ts';

const PATHS = 'security/paths.test.ts';
const PLACES = 'security/paths-places.test.ts';
const RACE = 'security/paths-race.test.ts';

/** How files are opened. */
export const PATH_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/paths.ts',
    [PATHS],
    [
      {
        name: 'paths-nul',
        holds: 'A NUL character does not cut a path short behind the check.',
        find: String.raw`if (path === '' || path.includes('\0')) throw`,
        replace: "if (path === '') throw",
      },
      {
        name: 'paths-check-file-kind',
        holds: 'The decision beforehand does not promise what opening then refuses (devices, pipes, hard links).',
        find: 'if (stat !== undefined) await requireUsable(stat, { path, access }, caller, roots);\n      else if',
        replace: 'if',
        tests: [PLACES],
      },
      {
        name: 'paths-check-deny',
        holds: 'A check that breaks denies.',
        find: "return { decision: 'deny', reason: readable(error, path).message };",
        replace: "return { decision: 'allow', path };",
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-read-file',
        holds: 'Devices, pipes and sockets are not read.',
        find: 'requireFile(pinned, path);\n      const handle',
        replace: 'const handle',
      },
      {
        name: 'paths-list-hidden',
        holds: 'Names of what may not be known are not listed.',
        find: "if (decidePath(join(pinned.path, name), 'read', use, roots).decision !== 'deny') names.push(name);",
        replace: 'names.push(name);',
      },
      {
        name: 'paths-list-end',
        holds: 'A folder without end is not held in memory.',
        find: 'if (names.length > LONGEST_LIST) break;',
        replace: '',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-unchanged-since',
        holds: 'A file that changed after it was read is not overwritten.',
        find: 'if (use.unchangedSince !== undefined && !sameFile(old?.stat, use.unchangedSince)) {',
        replace: 'if (false) {',
      },
      {
        name: 'paths-remove-unchanged',
        holds: 'A file that changed after it was read is not removed.',
        find: 'if (old === undefined || !sameFile(old.stat, use.unchangedSince)) {',
        replace: 'if (old === undefined) {',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-write-real-place',
        holds: 'A folder that is swapped while a file is written leads nowhere that may not be written.',
        find: "allowOrThrow(decidePath(real, 'write', use, roots), use);",
        replace: '',
        tests: [RACE],
      },
      {
        name: 'paths-write-kind',
        holds: 'Devices, pipes and folders are not replaced.',
        find: 'requireFile(pinned, path);\n      requireOneName(pinned, path);',
        replace: 'requireOneName(pinned, path);',
      },
      {
        name: 'paths-write-hard-links',
        holds: 'A file with other names (hard links) is not written.',
        find: 'requireFile(pinned, path);\n      requireOneName(pinned, path);',
        replace: 'requireFile(pinned, path);',
      },
      {
        name: 'paths-write-dangling',
        holds: 'A link that leads nowhere is not turned into a file where it leads.',
        find: "if (errorCode(error) !== 'ENOENT') throw error;\n      await requireNoLink(absolute, path);",
        replace: "if (errorCode(error) !== 'ENOENT') throw error;",
        tests: [PLACES],
      },
      {
        name: 'paths-new-folders',
        holds: 'No folder is made where nothing may be written.',
        find: 'requireDirectory(above, above.path);\n      allowOrThrow(decision, use);',
        replace: 'requireDirectory(above, above.path);',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-no-follow-new',
        holds: 'A link that takes the place of a folder that was just made is not followed.',
        find: 'parent = await pin(above.at(name), { noFollow: true });',
        replace: 'parent = await pin(above.at(name));',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-missing-told',
        holds: 'Nobody learns through a link whether something outside exists.',
        find: "if (place.decision === 'deny') throw refused(place.reason);",
        replace: '',
        tests: [PLACES],
      },
      {
        name: 'paths-judged-by-descriptor',
        holds: 'What was really opened is judged, so that a link leads nowhere outside.',
        find: 'allowOrThrow(decidePath(pinned.path, access, use, roots), use);',
        replace: '',
        tests: [PATHS, RACE],
      },
      {
        name: 'paths-hard-links-closed',
        holds: 'A hard link to state of the assistant, or to the memory, does not open it.',
        find: 'await refuseClosed(pinned.stat, use, roots);\n      return pinned;',
        replace: 'return pinned;',
      },
      {
        name: 'paths-refuse-outside',
        holds: 'A path outside is refused before anything there is opened.',
        find: "return decision.decision === 'deny' ? decision : undefined;",
        replace: 'return undefined;',
      },
      {
        name: 'paths-own-read-roots',
        holds: 'What one session may read is not written by it.',
        find: "const roots = await this.#roots(access === 'read' ? caller.readRoots : []);",
        replace: 'const roots = await this.#roots(caller.readRoots);',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-approval-deny',
        holds: 'A yes to one thing opens nothing that is closed to everybody.',
        find: "if (decision.decision === 'deny') throw refused(decision.reason);\n  if",
        replace: 'if',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'paths-approval-path',
        holds: 'A place that needs a yes is not opened without one, nor by a yes to another place.',
        find: 'if (use.approved?.(decision.path, decision.reason) !== true) {',
        replace: "if (decision.decision === 'deny') {",
      },
    ],
  ),
  ...guardsIn(
    'security/path-checks.ts',
    [PLACES],
    [
      {
        name: 'path-checks-dangling',
        holds: 'A link to a missing place outside is judged by where it leads.',
        find: 'if (target === undefined || links === MOST_LINKS) return place;',
        replace: 'return place;',
      },
      {
        name: 'path-checks-no-link',
        holds: 'A link that leads nowhere is not written through.',
        find: 'if (found !== undefined) throw refused(',
        replace: 'if (found !== undefined && false) throw refused(',
      },
      {
        name: 'path-checks-one-name',
        holds: 'A file with hard links is refused for writing.',
        find: 'if (stat.nlink > 1) throw',
        replace: 'if (stat.nlink > 100) throw',
      },
      {
        name: 'path-checks-file',
        holds: 'What is no regular file is refused.',
        find: 'if (stat.isFile()) return;',
        replace: 'return;',
      },
      {
        name: 'path-checks-directory',
        holds: 'What is no folder is not listed.',
        find: 'if (!stat.isDirectory()) throw',
        replace: 'if (!stat.isDirectory() && stat.isFIFO()) throw',
        tests: [PATHS],
      },
    ],
  ),
  ...guardsIn(
    'security/descriptors.ts',
    [RACE],
    [
      {
        name: 'descriptors-real-path',
        holds: 'What is judged is what was opened, not what the name led to a moment ago.',
        find: 'const real = await readlink(self);',
        replace: 'const real = await realpath(path);',
      },
      {
        name: 'descriptors-gone',
        holds: 'A file whose name was taken away is not judged by where it was.',
        find: 'if (!pinned.path.endsWith(GONE)) return pinned;',
        replace:
          'if (!pinned.path.endsWith(GONE)) return pinned;\n    return { ...pinned, path: pinned.path.slice(0, -GONE.length) };',
      },
      {
        name: 'descriptors-no-follow',
        holds: 'A link at the end of a path is not followed where it must not be one.',
        find: 'O_PATH | (noFollow === true ? constants.O_NOFOLLOW : 0)',
        replace: 'O_PATH',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'descriptors-places-only',
        holds: 'What has no place (a pipe by its descriptor) is not opened.',
        find: 'if (!isAbsolute(real)) throw',
        replace: 'if (!isAbsolute(real) && false) throw',
        tests: ['security/paths-walls.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/path-inodes.ts',
    [PLACES],
    [
      {
        name: 'inodes-state',
        holds: "A file of the assistant's home is not read under another name.",
        find: 'if (!(await holds(place, found, opened))) continue;',
        replace: 'if (await holds(place, found, opened)) continue;',
      },
      {
        name: 'inodes-private',
        holds: "The owner's memory is not read by others under another name.",
        find: 'if (await holds(join(workspace, name), found))\n',
        replace: 'if (false)\n',
      },
      {
        name: 'inodes-links-of-state',
        holds: 'State that lies elsewhere, behind a link in the home, is closed there too.',
        find: 'return isLink ? [{ place, real: realpathSync.native(place) }] : [];',
        replace: 'return [];',
      },
      {
        name: 'inodes-exclusive',
        holds: 'A file is not written into another one that was put in the way.',
        find: 'constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW',
        replace: 'constants.O_WRONLY | constants.O_CREAT',
        tests: ['security/paths-walls.test.ts'],
      },
      {
        name: 'inodes-same-file',
        holds: 'A file that changed is not taken for the one that was read.',
        find: 'return sameInode(a, b) && a.size === b.size && a.mtimeMs === b.mtimeMs && a.ctimeMs === b.ctimeMs;',
        replace: 'return sameInode(a, b);',
        tests: [PATHS],
      },
    ],
  ),
];
