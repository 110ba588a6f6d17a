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
    ],
  ),
];
