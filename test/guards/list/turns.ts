import { guardsIn, type Guard } from '../guard.ts';

const ROLES_GROUP = 'e2e/roles-group.test.ts';
const TAINT = 'e2e/taint.test.ts';

/** Whose turn it is, what joins it, and with whose rights it runs. */
export const TURN_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/loop.ts',
    ['agent/loop-roles.test.ts'],
    [
      {
        name: 'loop-weakest-role',
        holds: 'A turn that several people began has the weakest role of them.',
        find: 'const role = weakest(first.role, ...[...admitted.values()].map((message) => message.role));',
        replace: 'const { role } = first;',
      },
    ],
  ),
  ...guardsIn(
    'agent/command-runner.ts',
    [ROLES_GROUP],
    [
      {
        name: 'retry-role',
        holds: "A guest's turn that an owner has run again stays a guest's.",
        find: 'const role = weakest(message.role, asRole(rerun.role));',
        replace: 'const { role } = message;',
      },
    ],
  ),
  ...guardsIn(
    'agent/turn/tool-contexts.ts',
    [TAINT],
    [
      {
        name: 'turn-role',
        holds: 'A call runs with the rights of its turn.',
        find: 'role: turn.role,',
        replace: "role: 'owner',",
        tests: [ROLES_GROUP],
      },
    ],
  ),
];
