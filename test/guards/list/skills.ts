import { guardsIn, type Guard } from '../guard.ts';

/** What skills may be, and who may call them. */
export const SKILL_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/prompt/active-skills.ts',
    ['agent/active-skills.test.ts'],
    [
      {
        name: 'skills-model-only',
        holds: 'A skill that only the model may call is not called by people.',
        find: 'skill.name === name && skill.userInvocable',
        replace: 'skill.name === name',
      },
    ],
  ),
  ...guardsIn(
    'skills/walk.ts',
    ['skills/catalog.test.ts'],
    [
      {
        name: 'walk-file-links',
        holds: 'A SKILL.md that is a link, which could lead anywhere, is not used.',
        find: 'if (file.isFile()) found.push({ folder, folderName: basename(folder), file: path });\n      else warn(',
        replace: 'found.push({ folder, folderName: basename(folder), file: path });\n      if (!file.isFile()) warn(',
      },
      {
        name: 'walk-root-link',
        holds: "The workspace's folder of skills is no link.",
        find: "if (root.source === 'workspace' && (await lstat(root.path)).isSymbolicLink()) {",
        replace: "if (root.source === 'workspace' && (await lstat(root.path)).isFIFO()) {",
      },
      {
        name: 'walk-folder-links',
        holds: 'Links to folders are not followed.',
        find: 'if (entry.isDirectory() && depth < DEEPEST)',
        replace: 'if ((entry.isDirectory() || entry.isSymbolicLink()) && depth < DEEPEST)',
      },
    ],
  ),
  ...guardsIn(
    'skills/plain-file.ts',
    ['skills/install.test.ts'],
    [
      {
        name: 'plain-file-links',
        holds: 'A file of a skill is not read through a link, also in the middle of its path.',
        find: 'if (pinned.path !== path || pinned.stat.isSymbolicLink()) {',
        replace: 'if (pinned.path === null) {',
      },
    ],
  ),
  ...guardsIn(
    'skills/allowed-tools.ts',
    ['skills/allowed-tools.test.ts'],
    [
      {
        name: 'allowed-tools-unknown',
        holds: 'A limit of which nothing exists here allows nothing, and is not no limit.',
        find: 'return { allowed: [...allowed.values()], warnings: [...warnings] };',
        replace: 'return { allowed: allowed.size === 0 ? null : [...allowed.values()], warnings: [...warnings] };',
      },
      {
        name: 'allowed-tools-prefix',
        holds: 'A command that is limited to a beginning stays limited.',
        find: "} else tools.push({ tool: 'exec', commandPrefix: words });",
        replace: "} else tools.push({ tool: 'exec' });",
      },
      {
        name: 'allowed-tools-wildcards',
        holds: 'A wildcard within such a limit allows nothing.',
        find: "if (words === '' || words.includes('*')) {",
        replace: "if (words === '') {",
      },
    ],
  ),
  ...guardsIn(
    'skills/skills-index.ts',
    ['skills/skills-index.test.ts'],
    [
      {
        name: 'skills-index-people-only',
        holds: 'A skill that only people may call is not shown to the model.',
        find: '!disableModelInvocation && ',
        replace: '',
      },
      {
        name: 'skills-index-escaped',
        holds: 'A description or path does not become markup of the prompt.',
        find: ".replace(/[&<>\"]/gu, (character) => ENTITIES[character] ?? '')",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'skills/yaml.ts',
    ['skills/yaml-bomb.test.ts'],
    [
      {
        name: 'yaml-aliases',
        holds: 'Front matter does not grow in memory by references to itself.',
        find: 'maxAliasCount: MAX_ALIASES',
        replace: 'maxAliasCount: -1',
      },
    ],
  ),
  ...guardsIn(
    'skills/catalog.ts',
    ['skills/catalog.test.ts'],
    [
      {
        name: 'skill-agreed',
        holds: 'A skill of another program waits for a yes to its text.',
        find: 'this.#pins.get(folder) === read.pin;',
        replace: "read.pin !== '';",
        tests: ['skills/foreign.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'skills/plain-words.ts',
    ['skills/plain-words.test.ts'],
    [
      {
        name: 'plain-words-needs',
        holds: 'What a skill of somebody else lacks gives a model no order.',
        find: "return isPlain ? need : 'something with an odd name';",
        replace: 'return isPlain ? need : need;',
      },
    ],
  ),
];
