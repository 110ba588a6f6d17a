import { taintOfButton } from '../../bus/buttons.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import { atLeast } from '../../security/access/access.ts';
import type { TapeEntry } from '../../session/entry.ts';
import type { SkillCatalog } from '../../skills/catalog.ts';
import type { ActiveSkills } from '../../tools/tool.ts';
import { parseCommand } from '../commands/parse.ts';
import { resultOf } from '../subagents/task.ts';

/** A skill's text, as a message brings it in. */
export interface CalledSkill {
  readonly name: string;
  /** Others may have written its text. */
  readonly foreign: boolean;
  /** Block for the model. */
  readonly text: string;
}

export interface TurnSkills {
  /** The skills that a message calls: `/name …` at its beginning, `$name` anywhere. */
  called(message: InboundMessage): Promise<readonly CalledSkill[]>;
  /** What the skills that a turn's entries brought in ask for. */
  active(entries: readonly TapeEntry[]): Promise<ActiveSkills>;
  /** Real paths of the folders of all skills. */
  folders(): Promise<readonly string[]>;
}

const MOST_CALLED = 5;
/** Characters of one skill in a message; the rest can be read as a file. */
const MOST_TEXT = 50_000;
const MENTION = /(?<![\w$\\])\$(?<name>[a-z0-9][a-z0-9-]*)/gu;

/** `env`: the variables that are set for a skill. */
export function createTurnSkills(
  catalog: Pick<SkillCatalog, 'read' | 'load'>,
  env: (skill: string) => Readonly<Record<string, string>>,
): TurnSkills {
  return {
    called: async (message) => {
      if (
        message.untrusted ||
        taintOfButton(message) !== null ||
        resultOf(message) !== null ||
        !atLeast(message.role, 'trusted')
      )
        return [];
      const names = namesIn(message);
      if (names.length === 0) return [];
      const known = await catalog.read();
      const called = names.filter((name) => known.some((skill) => skill.name === name && skill.userInvocable));
      const loaded = await Promise.all(called.slice(0, MOST_CALLED).map((name) => catalog.load(name)));
      return loaded.flatMap((found) =>
        found === undefined
          ? []
          : [{ name: found.skill.name, foreign: found.skill.foreign, text: block(found.skill, found.text) }],
      );
    },
    active: async (entries) => {
      const skills = await catalog.read();
      const broughtIn = new Set(entries.flatMap((entry) => (entry.kind === 'message' ? skillsOf(entry) : [])));
      const active = skills.filter(
        ({ name, always, missing }) => broughtIn.has(name) || (always && missing.length === 0),
      );
      // A skill that is part of every prompt says how to work; only one that was called for narrows what may be called.
      const limiting = active.filter(({ name, allowedTools }) => broughtIn.has(name) && allowedTools !== null);
      return {
        names: active.map(({ name }) => name),
        foreign: active.some(({ foreign }) => foreign),
        folders: active.map(({ folder }) => folder),
        limitedBy: limiting.map(({ name }) => name),
        allowed: limiting.length === 0 ? null : limiting.flatMap(({ allowedTools }) => allowedTools ?? []),
        env: Object.assign({}, ...active.map(({ name }) => env(name))),
      };
    },
    folders: async () => (await catalog.read()).map(({ folder }) => folder),
  };
}

function namesIn(message: InboundMessage): readonly string[] {
  const parsed = parseCommand(message);
  const mentioned = [...message.text.matchAll(MENTION)].map((match) => match.groups?.['name'] ?? '');
  return [...new Set([...(parsed?.type === 'slash' ? [parsed.name] : []), ...mentioned])];
}

function block({ name, folder, file }: { name: string; folder: string; file: string }, text: string): string {
  const rest = `\n[Cut here: ${text.length} characters, ${MOST_TEXT} shown; read the rest in ${file}.]`;
  const shown = text.length <= MOST_TEXT ? text : text.slice(0, MOST_TEXT).toWellFormed() + rest;
  const note = 'The message above calls this skill: follow it. Its relative paths start in its folder.';
  return `<skill name="${name}" folder="${folder}" note="${note}">\n${shown.trim()}\n</skill>`;
}

function skillsOf(entry: TapeEntry): readonly string[] {
  return entry.kind === 'message' && entry.role !== 'assistant' ? (entry.skills ?? []) : [];
}
