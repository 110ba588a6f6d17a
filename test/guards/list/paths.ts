import { guardsIn, type Guard } from '../guard.ts';

const PATHS = 'security/paths.test.ts';
const RACE = 'security/paths-race.test.ts';

/** How files are opened. */
export const PATH_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/paths/guard.ts',
    [PATHS],
    [
      {
        name: 'paths-list-hidden',
        holds: 'Names of what may not be known are not listed.',
        find: "if (decidePath(join(pinned.path, name), 'read', use, roots).decision !== 'deny') names.push(name);",
        replace: 'names.push(name);',
      },
      {
        name: 'paths-no-follow-new',
        holds: 'A link that takes the place of a folder that was just made is not followed.',
        find: 'parent = await pin(above.at(name), { noFollow: true });',
        replace: 'parent = await pin(above.at(name));',
        tests: ['security/paths-guards.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'security/paths/descriptors.ts',
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
    ],
  ),
];
