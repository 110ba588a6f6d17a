import { failed, type Finding } from '../util/finding.ts';
import type { Hooks } from '../agent/hooks/hooks.ts';
import type { Plugin } from './plugin.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import type { PluginPins } from './plugin-pins.ts';

/** The stages in which a guard decides. */
const STAGES = ['admit', 'beforeModel', 'runModel', 'beforeTool', 'afterTool', 'render', 'dispatch'] as const;
type Stage = (typeof STAGES)[number];

/** Where the stages of a guard are kept among the agreements to plugins; no package has such a name. */
export function guardKey(name: string): string {
  return `guard of ${name}`;
}

/** The stages in which a plugin decides as a guard, such as `admit render`; null: it isn't a guard. */
export function guardStages({ guard, hooks }: Plugin): string | null {
  const stages = guard === true ? STAGES.filter((stage) => hooks?.[stage] !== undefined) : [];
  return stages.length === 0 ? null : stages.join(' ');
}

/** That a guard isn't running, for the list of findings. */
export function missingGuard({ name }: Plugin): Finding {
  const says = `The guard ${JSON.stringify(name)} isn't running, so what it should judge is held back.`;
  return { id: 'plugins.there', ...failed(says, wayOut(name)), facts: { plugin: name } };
}

/** What is known of a plugin that isn't running. */
export interface Missing {
  /** A sentence without a full stop. */
  readonly why: string;
  /** Its package says that it is a guard. */
  readonly looksGuarding: boolean;
}

/**
 * Stands in for a guard that isn't running: denies what the guard would have judged, and says so. Returns null for a plugin
 * that isn't a guard: it wasn't one when it last ran and, if it never ran, doesn't look like one. If `pins` is null, they
 * can't be read, so every plugin counts as a guard.
 */
export function standIn(name: string, pins: PluginPins | null, { why, looksGuarding }: Missing): Plugin | null {
  const kept = pins?.get(guardKey(name)) ?? (pins === null || looksGuarding ? STAGES.join(' ') : undefined);
  if (kept === undefined) return null;
  const held = `I can't go on with this, because the guard "${name}" isn't running and nothing may pass without it.`;
  const reason = `${held} The owner sees with /status why. Send it again when the guard is back.`;
  const deny = { type: 'deny', reason } as const;
  const toOwner = { type: 'deny', reason: `${held} It isn't running because ${why}. ${wayOut(name)}.` } as const;
  const hooksHeld: Required<Pick<Hooks, Stage>> = {
    admit: ({ role }) => (role === 'owner' ? toOwner : deny),
    beforeModel: () => deny,
    runModel: () => {
      throw new Error(reason);
    },
    beforeTool: () => deny,
    afterTool: () => deny,
    // In place of a denied text there would be silence.
    render: () => ({ type: 'replace', value: reason }),
    dispatch: (_turn, message) => ({ type: 'replace', value: { ...message, text: reason, media: [] } }),
  };
  const stages = STAGES.filter((stage) => kept.split(' ').includes(stage));
  // A guard of texts would hold back each answer at its end: then no turn begins. One of tools lets people talk.
  const refused = stages.every((stage) => stage === 'beforeTool') ? stages : ['admit', ...stages];
  const hooks = Object.fromEntries(
    STAGES.filter((stage) => refused.includes(stage)).map((stage) => [stage, hooksHeld[stage]]),
  );
  return { name, guard: true, hooks };
}

/** What the owner of a guard that isn't running can do. */
function wayOut(name: string): string {
  return `Fix it and send /restart, or go on without it: \`${assistantCommand(`plugins remove ${name}`)}\``;
}
