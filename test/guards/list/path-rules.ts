import { guardsIn, type Guard } from '../guard.ts';

const PATHS = 'security/paths.test.ts';
const PLACES = 'security/paths-places.test.ts';

/** Which places are closed, and which need a yes. */
export const PATH_RULE_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/path-rules.ts',
    [PLACES],
    [
      {
        name: 'rules-kernel',
        holds: 'Nothing in /proc, /sys and /dev is touched.',
        find: 'if (KERNEL_ROOTS.some((root) => within(root, path))) {',
        replace: 'if (KERNEL_ROOTS.some(() => false)) {',
        tests: [PATHS],
      },
      {
        name: 'rules-state',
        holds: 'Configuration, state, tapes and tokens of the assistant are not touched.',
        find: 'if (places.some((place) => isState(place, caller, roots))) {',
        replace: 'if (places.some(() => false)) {',
        tests: [PATHS],
      },
      {
        name: 'rules-state-other-places',
        holds: 'State is closed under each place it has, also through links.',
        find: 'const places = [path, ...otherPlaces(path, roots)];',
        replace: 'const places = [path];',
      },
      {
        name: 'rules-workspace',
        holds: 'Nothing outside the workspace and the read roots is touched.',
        find: "if (roots.restrictToWorkspace && !within(roots.workspace, path) && (access === 'write' || readRoot === undefined)) {",
        replace: "if (roots.restrictToWorkspace && !within(roots.workspace, path) && access === 'none') {",
        tests: [PATHS],
      },
      {
        name: 'rules-read-roots-written',
        holds: 'A read root is not written.',
        find: "(access === 'write' || readRoot === undefined)) {",
        replace: 'readRoot === undefined) {',
        tests: [PATHS],
      },
      {
        name: 'rules-deny-first',
        holds: 'A place that is closed under one of its names stays closed, whatever its other names allow.',
        find: "decisions.find(({ decision }) => decision === 'deny') ??",
        replace: '',
      },
      {
        name: 'rules-ask-first',
        holds: 'A place that needs a yes under one of its names needs it under each.',
        find: "decisions.find(({ decision }) => decision === 'ask') ?? { decision: 'allow', path }",
        replace: "decisions.find(({ decision }) => decision === 'allow') ?? { decision: 'allow', path }",
      },
      {
        name: 'rules-state-always',
        holds: 'State is closed even where the home is the workspace or a read root.',
        find: 'if (STATE.has(first) || STATE_DATABASE.test(first)) return true;',
        replace: '',
        tests: [PATHS],
      },
      {
        name: 'rules-session-folders',
        holds: "Other sessions' spill and media are not opened by a read root around them.",
        find: 'SESSION_FOLDERS.has(first) && !seesPrivate(caller) ? join(home, first) : home;',
        replace: 'home;',
      },
      {
        name: 'rules-private',
        holds: 'memory/ and USER.md are closed to everybody but the owner in a direct chat.',
        find: "if (!seesPrivate(caller) && (first === 'memory' || (first === 'user.md' && parts.length === 1))) {",
        replace: "if (first === 'nothing' && !seesPrivate(caller)) {",
        tests: [PATHS],
      },
      {
        name: 'rules-jobs',
        holds: 'cron/jobs.json is not written past the cron tool.',
        find: "if (first === 'cron' && second === 'jobs.json') {",
        replace: "if (first === 'cron' && second === 'nothing') {",
        tests: [PATHS],
      },
      {
        name: 'rules-protected-by-role',
        holds: 'Others than the owner do not change what shapes the assistant.',
        find: "if (caller.role !== 'owner') {\n    const reason",
        replace: "if (caller.role !== 'owner') return undefined;\n  if (false) {\n    const reason",
        tests: [PATHS],
      },
      {
        name: 'rules-protected-by-taint',
        holds: 'What shapes the assistant is not changed while strangers have a say.',
        find: "return decision.decision === 'allow' ? undefined : { ...decision, path };",
        replace: 'return undefined;',
        tests: [PATHS],
      },
      {
        name: 'rules-secrets',
        holds: 'Places for credentials need a yes.',
        find: 'const kind = secretKind(parts) ??',
        replace: 'const kind = undefined ??',
        tests: [PATHS],
      },
      {
        name: 'rules-start-files',
        holds: 'What runs without anybody calling it is not written without a yes.',
        find: "(access === 'read' ? shellStartKind(parts) : startKind(parts))",
        replace: '(shellStartKind(parts))',
      },
    ],
  ),
  ...guardsIn(
    'security/path-names.ts',
    [PLACES],
    [
      {
        name: 'names-folded-width',
        holds: 'Full-width and composed letters do not make another name of a closed one.',
        find: "    .normalize('NFKC')\n",
        replace: '',
      },
      {
        name: 'names-folded-hidden',
        holds: 'Characters that nobody sees do not make another name of a closed one.',
        find: String.raw`    .replaceAll(/\p{Default_Ignorable_Code_Point}/gu, '')
`,
        replace: '',
      },
      {
        name: 'names-folded-case',
        holds: 'Capital letters do not make another name of a closed one.',
        find: '    .toUpperCase()\n    .toLowerCase();',
        replace: '    .valueOf();',
      },
      {
        name: 'names-bootstrap',
        holds: 'SOUL.md, AGENTS.md, USER.md, TOOLS.md and HEARTBEAT.md are protected.',
        find: "if (parts.length === 1 && PROTECTED_FILES.has(first)) return 'bootstrap';",
        replace: '',
        tests: [PATHS],
      },
      {
        name: 'names-memory-skills',
        holds: 'memory/ and skills/ are protected.',
        find: "if (first === 'memory' || first === 'skills') return first;",
        replace: '',
        tests: [PATHS],
      },
      {
        name: 'names-git',
        holds: 'What makes git run programs is protected, in each repository of the workspace.',
        find: "inside.some((part) => GIT_PROGRAMS.has(part)) ? 'bootstrap' : undefined;",
        replace: "inside.some(() => false) ? 'bootstrap' : undefined;",
        tests: [PATHS],
      },
      {
        name: 'names-env-files',
        holds: '.env and its relatives need a yes.',
        find: "if (name.startsWith('.env') && !NO_SECRETS.has(name)) return",
        replace: "if (name === '.env-never' && !NO_SECRETS.has(name)) return",
        tests: [PATHS],
      },
      {
        name: 'names-private-keys',
        holds: 'Private keys need a yes.',
        find: "return KEY_FILE.test(name) ? 'looks like a private key' : undefined;",
        replace: 'return undefined;',
        tests: [PATHS],
      },
      {
        name: 'names-secret-folders',
        holds: '.ssh, .aws, .gnupg and the like need a yes.',
        find: 'const place = names(parts, SECRET_FOLDERS) ||',
        replace: 'const place =',
        tests: [PATHS],
      },
      {
        name: 'names-system-secrets',
        holds: 'Password hashes and mounted secrets of the system need a yes.',
        find: ' || lies(parts, SYSTEM_SECRETS);',
        replace: ';',
      },
      {
        name: 'names-shell-start',
        holds: 'Start-up files of shells need a yes.',
        find: "return names(parts, SHELL_START) ? 'is run whenever a shell starts' : undefined;",
        replace: 'return undefined;',
        tests: [PATHS],
      },
      {
        name: 'names-other-start',
        holds: 'Autostart, user units and the settings of git are not written without a yes.',
        find: "if (names(parts, OTHER_START)) return 'makes other programs run by themselves';",
        replace: '',
      },
      {
        name: 'names-system-start',
        holds: 'Folders of the system are not written without a yes.',
        find: "return lies(parts, SYSTEM_START) ? 'belongs to the system, not to a project' : shellStartKind(parts);",
        replace: 'return shellStartKind(parts);',
      },
    ],
  ),
];
