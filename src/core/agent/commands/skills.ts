import { switchSkill } from '../../gateway/operations/skills.ts';
import type { App } from '../../app.ts';
import type { Skill } from '../../skills/skill.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { nearest, oneLine } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

const MOST_FOUND = 20;

export const skillsCommand = (app: App): ChatCommand => ({
  name: 'skills',
  description: 'list the skills I have; `/skills name` shows one, `/skills off name` switches it off',
  role: 'trusted',
  priority: false,
  interrupts: false,
  run: async ({ message, args }) => {
    const { to, name = '' } = /^(?<to>on|off)\s+(?<name>\S+)$/u.exec(args.toLowerCase())?.groups ?? {};
    if (to !== undefined) {
      if (message.role !== 'owner') return 'Only the owner can switch skills on and off.';
      await switchSkill(app, name, to === 'on');
      return to === 'on'
        ? `The skill **${name}** is on.`
        : `The skill **${name}** is off. To switch it on again: \`/skills on ${name}\``;
    }
    const all = await app.skills.read();
    if (args !== '') return details(all, args.toLowerCase());
    const others = foundLines((await app.skills.survey()).found.map(({ name }) => name));
    const none = 'There are no skills yet. To add one, put a folder with a SKILL.md into `skills/` of the workspace.';
    if (all.length === 0) return [none, ...others].join('\n');
    return [
      ...all.map(line),
      'To use one, write `/name what to do`, or `$name` anywhere in a message.',
      ...others,
    ].join('\n');
  },
});

function line({ name, description, missing, always }: Skill): string {
  const state = missing.length > 0 ? ` (needs ${missing.join(', ')})` : always ? ' (always active)' : '';
  return `- **${name}**${state}: ${oneLine(description, 160)}`;
}

function foundLines(names: readonly string[]): readonly string[] {
  if (names.length === 0) return [];
  const shown = `${names.slice(0, MOST_FOUND).join(', ')}${names.length > MOST_FOUND ? ', …' : ''}`;
  return [
    `Found in ~/.agents/skills, not enabled: ${shown}. To use one, run this: \`${assistantCommand('skills enable NAME')}\``,
  ];
}

function details(all: readonly Skill[], name: string): string {
  const skill = all.find((candidate) => candidate.name === name);
  if (skill === undefined) {
    const guess = nearest(
      name,
      all.map((candidate) => candidate.name),
    );
    return `There is no skill ${oneLine(name, 60)}.${guess === undefined ? '' : ` Did you mean ${guess}?`}`;
  }
  const { missing, install, getting, homepage, license, warnings } = skill;
  return [
    `**${skill.name}** (${skill.source}): ${skill.description}`,
    `In \`${skill.folder}\``,
    ...(missing.length === 0 ? [] : [`Needs ${missing.join(', ')}`]),
    ...(getting.commands.length === 0
      ? install.map((way) => `To install what is missing: ${way}`)
      : [`To install what is missing, ask me, or run this: \`${assistantCommand(`skills install-deps ${name}`)}\``]),
    ...(missing.length === 0 ? [] : getting.reasons),
    ...(homepage === undefined ? [] : [homepage]),
    ...(license === undefined ? [] : [`Licence: ${license}`]),
    ...warnings.map((warning) => `⚠ ${warning}`),
  ].join('\n');
}
