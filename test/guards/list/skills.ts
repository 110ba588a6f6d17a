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
    'skills/install.ts',
    ['skills/install.test.ts'],
    [
      {
        name: 'remove-own-only',
        holds: 'Nothing outside of the workspace is removed with a skill.',
        find: "if (skill.source !== 'workspace' || !skill.folder.startsWith(root + sep)) {",
        replace: 'if (skill.folder === sep) {',
      },
      {
        name: 'install-devices',
        holds: 'Devices, pipes and sockets are not copied with a skill.',
        find: 'else throw refusal(`${path} is a device, pipe or socket.`);',
        replace: '',
      },
      {
        name: 'install-shows-risks',
        holds: 'What is risky in a skill is shown before it is added.',
        find: 'risks: findRisks(files), pin',
        replace: 'risks: [], pin',
      },
    ],
  ),
  ...guardsIn(
    'cli/extensions/skills.ts',
    ['cli/skills.test.ts'],
    [
      {
        name: 'skills-add-asks',
        holds: 'A skill is added only after a yes.',
        find: "context.stdout.write('Nothing was added.\\n');\n    return 1;",
        replace: "context.stdout.write('Nothing was added.\\n');",
      },
      {
        name: 'skills-add-shows',
        holds: 'The person who is asked sees all that the skill brings first.',
        find: "context.stdout.write(`${terminalText(aboutPlan(plan).join('\\n'))}\\n`);",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'app/skill-lab/trial-tools.ts',
    ['app/skill-lab/try.test.ts'],
    [
      {
        name: 'trial-effects',
        holds: 'A trial of a skill changes nothing: calls with effects only say what they would do.',
        find: "tool.effect === 'none' && tool.untrusted !== true",
        replace: 'tool.untrusted !== true',
      },
      {
        name: 'trial-outside',
        holds: 'A trial of a skill asks no one outside but the model.',
        find: "tool.effect === 'none' && tool.untrusted !== true",
        replace: "tool.effect === 'none'",
      },
    ],
  ),
  ...guardsIn(
    'app/skill-lab/trial-home.ts',
    ['app/skill-lab/test.test.ts'],
    [
      {
        name: 'trial-cases-hidden',
        holds: 'The model that is tested does not see what is expected of it.',
        find: 'all.files.filter(({ path }) => path !== CASES_FILE)',
        replace: 'all.files',
      },
    ],
  ),
  ...guardsIn(
    'app/tools/mcp.ts',
    ['app/skill-lab/try.test.ts'],
    [
      {
        name: 'trial-new-servers',
        holds: 'A trial of a skill starts no MCP server.',
        find: 'if (!base.safe) clients?.connectNew();',
        replace: 'clients?.connectNew();',
      },
    ],
  ),
];
