import { usableName } from '../../skills/skill-text.ts';
import { taintOfButton } from '../../bus/buttons.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { Origin, Origins } from '../../bus/origins.ts';
import { atLeast } from '../../security/access/access.ts';
import type { TapeEntry } from '../../session/entry.ts';
import type { SkillCatalog } from '../../skills/catalog.ts';
import type { ActiveSkills } from '../../tools/tool.ts';
import { parseCommand } from '../commands/parse.ts';
import { resultOf } from '../subagents/task.ts';
import { cut } from '../../util/text.ts';

/** A skill that a message calls. */
export interface CalledSkill {
  readonly name: string;
  /** True if someone other than the owner may have written its text. */
  readonly foreign: boolean;
  /** The `<skill>` block for the model. */
  readonly text: string;
}

export interface TurnSkills {
  /** The skills that a message calls: `/name …` at its beginning, `$name` anywhere. */
  called(message: InboundMessage): Promise<readonly CalledSkill[]>;
  /** The combined effect of the skills that a turn's entries called and of those that are always active. */
  active(entries: readonly TapeEntry[]): Promise<ActiveSkills>;
  /** Real paths of the folders of all skills. */
  folders(): Promise<readonly string[]>;
}

/** Skills that one message may call. */
const MOST_CALLED = 5;
/** Characters of one skill in a message; the rest can be read as a file. */
const MOST_TEXT = 50_000;
const MENTION =
  /(?<![\w$\\])\$(?<name>(?:[\p{L}\p{M}\p{N}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u200d-]|\ufe0f)+)/gu;

/** `env`: the variables that are set for a skill. */
export function createTurnSkills(
  catalog: Pick<SkillCatalog, 'read' | 'lastRead' | 'load'>,
  origins: Origins,
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
      const names = namesIn(message, origins.of(message.origin));
      if (names.length === 0) return [];
      const known = await catalog.read();
      const callable = known.filter(({ userInvocable }) => userInvocable).map(({ name }) => name);
      const called = [...new Set(names.flatMap((name) => calledBy(name, callable) ?? []))];
      const loaded = await Promise.all(called.slice(0, MOST_CALLED).map((name) => catalog.load(name)));
      return loaded.flatMap((found) =>
        found === undefined
          ? []
          : [{ name: found.skill.name, foreign: found.skill.foreign, text: block(found.skill, found.text) }],
      );
    },
    active: async (entries) => {
      // The system prompt of the turn was made by a fresh look, and so is each text that is loaded.
      const skills = await catalog.lastRead();
      const broughtIn = new Set(entries.flatMap((entry) => (entry.kind === 'message' ? skillsOf(entry) : [])));
      const active = skills.filter(
        ({ name, always, missing }) => broughtIn.has(name) || (always && missing.length === 0),
      );
      // Skills that are always active do not limit the tools; only skills that were called do.
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
    folders: async () => (await catalog.lastRead()).map(({ folder }) => folder),
  };
}

/**
 * The skill that a written name calls. In scripts without spaces the text goes on right behind the name (`$天气怎么样`), so
 * there the longest skill with which it begins counts.
 */
function calledBy(written: string, skills: readonly string[]): string | undefined {
  const name = written.normalize('NFC').replaceAll('\ufe0f', '');
  if (skills.includes(name)) return name;
  const [begins] = skills
    .filter((skill) => /[^\x00-\x7f]$/u.test(skill) && name.startsWith(skill))
    .toSorted((a, b) => b.length - a.length);
  const ascii = /^[a-z0-9][a-z0-9-]*/u.exec(name)?.[0];
  const usable = usableName(written);
  return begins ?? skills.find((skill) => skill === ascii) ?? skills.find((skill) => skill === usable);
}

function namesIn(message: InboundMessage, { mayCommand }: Origin): readonly string[] {
  const parsed = mayCommand === true ? parseCommand(message) : null;
  const mentioned = [...message.text.matchAll(MENTION)].map((match) => match.groups?.['name'] ?? '');
  return [...new Set([...(parsed?.type === 'slash' ? [parsed.name] : []), ...mentioned])];
}

function block({ name, folder, file }: { name: string; folder: string; file: string }, text: string): string {
  const rest = `\n[Cut here: ${text.length} characters, ${MOST_TEXT} shown; read the rest in ${file}.]`;
  const shown = text.length <= MOST_TEXT ? text : cut(text, MOST_TEXT) + rest;
  const note = 'The message above calls this skill: follow it. Its relative paths start in its folder.';
  return `<skill name="${name}" folder="${folder}" note="${note}">\n${shown.trim()}\n</skill>`;
}

function skillsOf(entry: TapeEntry): readonly string[] {
  return entry.kind === 'message' && entry.role !== 'assistant' ? (entry.skills ?? []) : [];
}
