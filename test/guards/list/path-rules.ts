import { guardsIn, type Guard } from '../guard.ts';

const PATHS = 'security/paths.test.ts';
const RULES = 'security/paths-rules.test.ts';

/** Which places are closed, and which need a yes. */
export const PATH_RULE_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'security/paths/rules.ts',
    [RULES],
    [
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
        name: 'rules-protected-by-role',
        holds: 'Others than the owner do not change what shapes the assistant.',
        find: "if (caller.role !== 'owner') {\n    const reason",
        replace: "if (caller.role !== 'owner') return undefined;\n  if (false) {\n    const reason",
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
    'security/paths/names.ts',
    [RULES],
    [
      {
        name: 'names-git',
        holds: 'What makes git run programs is protected, in each repository of the workspace.',
        find: "inside.some((part) => GIT_PROGRAMS.has(part)) ? 'bootstrap' : undefined;",
        replace: "inside.some(() => false) ? 'bootstrap' : undefined;",
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
        name: 'names-system-start',
        holds: 'Folders of the system are not written without a yes.',
        find: "return lies(parts, SYSTEM_START) ? 'belongs to the system, not to a project' : shellStartKind(parts);",
        replace: 'return shellStartKind(parts);',
      },
    ],
  ),
];
