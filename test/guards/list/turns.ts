import { guardsIn, type Guard } from '../guard.ts';

const ROLES_GROUP = 'e2e/roles-group.test.ts';
const ROLES = 'e2e/roles.test.ts';
const TAINT = 'e2e/taint.test.ts';

/** Whose turn it is, what joins it, and with whose rights it runs. */
export const TURN_GUARDS: readonly Guard[] = [
  ...guardsIn(
    'agent/joining.ts',
    ['agent/joining.test.ts'],
    [
      {
        name: 'joining-people',
        holds: "Only a person's words join a running turn.",
        find: "message.origin === 'user' &&",
        replace: '',
      },
      {
        name: 'joining-chat',
        holds: 'Words of another chat or thread do not join a turn.',
        find: '(sameChat(first, message) || first.sessionKey === UNIFIED_SESSION) &&',
        replace: '',
      },
      {
        name: 'joining-role',
        holds: 'Words of somebody who may do less do not join a turn with more rights.',
        find: 'atLeast(message.role, first.role) &&',
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'agent/turn-runner.ts',
    [ROLES_GROUP],
    [
      {
        name: 'steering-role',
        holds: 'What somebody with fewer rights says does not steer a turn that runs with more.',
        find: '!mayJoin(first, message) || !atLeast(message.role, claimed.role)',
        replace: "!mayJoin({ ...first, role: 'guest' }, message)",
      },
    ],
  ),
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
      {
        name: 'loop-hook-denies',
        holds: 'A message that a guard of a plugin refuses gets no turn.',
        find: "if ('denied' in decision) await this.#deny(message, decision.denied);\n      else",
        replace: "if ('denied' in decision) admitted.set(message, message);\n      else",
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
      {
        name: 'command-refused',
        holds: 'A command that is for others is not run.',
        find: "if (found.type === 'refused') return found.reason;",
        replace: "if (found.type === 'refused') return 'done';",
        tests: [ROLES],
      },
    ],
  ),
  ...guardsIn(
    'agent/hooks.ts',
    ['agent/hooks.test.ts'],
    [
      {
        name: 'hooks-guard-breaks',
        holds: 'A guard of a plugin that breaks denies.',
        find: 'if (guard) return { denied: `The guard ${owner} failed, so this was not done.` };',
        replace: '',
      },
      {
        name: 'hooks-denial',
        holds: 'What a hook denies is not done.',
        find: "if (decision?.type === 'deny') return { denied: decision.reason };",
        replace: '',
      },
    ],
  ),
  ...guardsIn(
    'agent/commands/table.ts',
    [ROLES],
    [
      {
        name: 'commands-role',
        holds: 'A command is run only for a role that may use it.',
        find: 'if (!atLeast(message.role, command.role)) {',
        replace: 'if (message.role === null) {',
      },
      {
        name: 'commands-comma-role',
        holds: 'Tools are run directly for the owner alone.',
        find: 'if (atLeast(message.role, command.role)) return',
        replace: "if (atLeast(message.role, 'guest')) return",
      },
      {
        name: 'commands-shown',
        holds: 'Guests are not told of commands that are not theirs.',
        find: 'return this.#options.commands.filter((command) => atLeast(role, command.role));',
        replace: 'return this.#options.commands;',
      },
    ],
  ),
  ...guardsIn(
    'agent/commands/parse.ts',
    ['agent/bursts.test.ts'],
    [
      {
        name: 'parse-forwarded',
        holds: "A forwarded command is somebody else's words.",
        find: 'if (message.untrusted || heldAtButton',
        replace: 'if (heldAtButton',
      },
      {
        name: 'parse-pressed',
        holds: 'The label of a button that a model made is no command, whoever presses it.',
        find: ' || heldAtButton(message) !== null) return null;',
        replace: ') return null;',
        tests: ['e2e/pressed-words.test.ts'],
      },
    ],
  ),
  ...guardsIn(
    'agent/commands/pair.ts',
    ['e2e/pairing.test.ts'],
    [
      {
        name: 'pair-direct',
        holds: 'Codes and names are not told where others read along.',
        find: "if (chatType !== 'direct') return",
        replace: 'if (chatType === undefined) return',
      },
      {
        name: 'pair-names',
        holds: 'The name that a stranger chose does not look like anything else.',
        find: "const called = (name ?? '').replaceAll('`', \"'\");\n  return called === '' ? `${channel}:${id}` : `${channel}:${id} \\`${called}\\``;",
        replace:
          "const called = name ?? '';\n  return called === '' ? `${channel}:${id}` : `${channel}:${id} ${called}`;",
      },
    ],
  ),
  ...guardsIn(
    'agent/turn.ts',
    [TAINT],
    [
      {
        name: 'turn-taint-untrusted',
        holds: 'A call knows that strangers have a say in its conversation.',
        find: 'untrusted: history.untrusted || skills.foreign,',
        replace: 'untrusted: skills.foreign,',
      },
      {
        name: 'turn-taint-private',
        holds: 'A call knows that private things are in its conversation.',
        find: 'private: history.private || turn.isOwners,',
        replace: 'private: turn.isOwners,',
        tests: ['e2e/taint-bits.test.ts'],
      },
      {
        name: 'turn-taint-memory',
        holds: "A prompt with the owner's memory in it makes the whole request private.",
        find: '...(isOwners ? { private: true } : {}),',
        replace: '',
        tests: [TAINT],
      },
      {
        name: 'turn-role',
        holds: 'A call runs with the rights of its turn.',
        find: 'role: turn.role,',
        replace: "role: 'owner',",
        tests: [ROLES_GROUP],
      },
      {
        name: 'turn-taint-foreign-skills',
        holds: 'A skill that others may have written taints the turn that it is active in.',
        find: '|| skills.foreign,',
        replace: ',',
        tests: ['e2e/taint-bits.test.ts'],
      },
    ],
  ),
];
