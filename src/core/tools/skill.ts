import * as z from 'zod';
import { cut, nearest, oneLine } from '../util/text.ts';
import { errorResult } from './registry/result.ts';
import { defineTool, type Tool, type ToolResult } from './tool.ts';

interface ShelvedSkill {
  readonly name: string;
  /** Real path. */
  readonly folder: string;
  /** Real path of its `SKILL.md`. */
  readonly file: string;
  /** What it needs and is not there. */
  readonly missing: readonly string[];
  /** How that may be installed, as its author says it. */
  readonly install: readonly string[];
  /** The commands that install it here, or why there are none. */
  readonly getting: { readonly commands: readonly string[]; readonly reasons: readonly string[] };
  /** Others may have written its text. */
  readonly foreign: boolean;
  /** Only people may call it. */
  readonly disableModelInvocation: boolean;
}

/** What this tool needs of the skills. */
export interface SkillSource {
  read(): Promise<readonly ShelvedSkill[]>;
  /** `line`: the line of the skill's file with which its text begins, from 1. */
  load(name: string): Promise<{ skill: ShelvedSkill; text: string; line: number } | undefined>;
  /** What else lies in a skill's folder: relative paths. */
  files(skill: ShelvedSkill, most: number): Promise<{ paths: readonly string[]; more: boolean }>;
}

export interface SkillToolOptions {
  readonly skills: SkillSource;
  /** Characters of a text before it is cut. */
  readonly pageChars: number;
}

const MOST_FILES = 50;
const MOST_NEAREST = 3;
/** Of the page, for what stands under the text. */
const FOOT_SHARE = 0.25;

const parameters = z.object({
  name: z.string().min(1).describe('Name of the skill, e.g. weather. * returns the names of all.'),
});

export function skillTool({ skills, pageChars }: SkillToolOptions): Tool {
  return defineTool({
    name: 'skill',
    fits: 'small',
    onlyReads: true,
    source: 'a skill by another author',
    description:
      'Load a skill: instructions for one kind of task, which you then follow. Use it when one that your system prompt lists fits the task.',
    parameters,
    effect: 'none',
    role: 'trusted',
    execute: async ({ name }) => {
      const wanted = name.trim().replace(/^[$/]/u, '').toLowerCase();
      const shown = (await skills.read()).filter(({ disableModelInvocation }) => !disableModelInvocation);
      const names = shown.map((skill) => skill.name);
      if (wanted === '*') return listed(names, pageChars);
      const loaded = await skills.load(wanted);
      if (loaded === undefined) return unknown(wanted, names);
      if (loaded.skill.disableModelInvocation) {
        const use = `Only people call this skill, with /${wanted} or $${wanted} in a message.`;
        return errorResult(`skill ${wanted}`, use);
      }
      const files = await skills.files(loaded.skill, MOST_FILES);
      const foot = cut(footOf(loaded.skill, files), Math.floor(pageChars * FOOT_SHARE));
      return {
        title: `skill ${wanted}`,
        output: `${page(loaded, pageChars - foot.length)}\n\n${foot}`,
        metadata: { skill: wanted },
        skill: wanted,
        ...(loaded.skill.foreign ? { untrusted: true } : {}),
      };
    },
  });
}

function page({ skill, text, line }: { skill: ShelvedSkill; text: string; line: number }, most: number): string {
  const whole = text.trimEnd();
  if (whole.length <= most) return whole === '' ? '(This skill has no text.)' : whole;
  const space = most - skill.file.length - 100;
  const begun = cut(whole, Math.max(0, space));
  const end = begun.lastIndexOf('\n');
  // A line that is longer than the page is shown as far as it goes.
  const shown = end > space / 2 ? begun.slice(0, end) : begun;
  const next = line + begun.slice(0, end > space / 2 ? end + 1 : begun.length).split('\n').length - 1;
  return `${shown}\n\n(cut here; continue with read_file ${skill.file} offset ${next})`;
}

function footOf(skill: ShelvedSkill, { paths, more }: { paths: readonly string[]; more: boolean }): string {
  const { folder, missing } = skill;
  return [
    `Folder of this skill, where its relative paths start: ${folder}`,
    ...(paths.length === 0 ? [] : [`Its other files: ${paths.join(', ')}${more ? ', and more' : ''}`]),
    ...(missing.length === 0
      ? []
      : [`It cannot be used yet, because this is missing: ${missing.join(', ')}.${waysOf(skill)}`]),
  ].join('\n');
}

/** How the model gets what is missing: by commands that `exec` shows whole to the owner, or by words alone. */
function waysOf({ install, getting: { commands, reasons } }: ShelvedSkill): string {
  const why = reasons.map((reason) => ` ${reason}`).join('');
  if (commands.length > 0) {
    return ` To install it, call exec with outside: true and exactly this command, which the owner is asked about: ${commands.join(' && ')}${why === '' ? '' : `\n${why.trim()}`}`;
  }
  return install.length === 0 ? why : `${why} It can be installed, if the owner agrees: ${install.join('; ')}.`;
}

function unknown(wanted: string, names: readonly string[]): ToolResult {
  const close = nearestNames(wanted, names);
  const hint = close.length > 0 ? `Did you mean ${close.join(' or ')}?` : 'The name * lists all.';
  const nothing = names.length === 0 ? 'There are no skills.' : hint;
  return errorResult('skill', `There is no skill ${JSON.stringify(oneLine(wanted, 60))}. ${nothing}`);
}

/** Names that hold the word, then those that are close to it. */
function nearestNames(wanted: string, names: readonly string[]): readonly string[] {
  const holding = names.filter((name) => wanted.length > 2 && (name.includes(wanted) || wanted.includes(name)));
  const close = nearest(wanted, names);
  return [...new Set([...(close === undefined ? [] : [close]), ...holding])].slice(0, MOST_NEAREST);
}

function listed(names: readonly string[], most: number): ToolResult {
  const all = names.join(', ');
  const output = names.length === 0 ? 'There are no skills.' : all.length <= most ? all : `${cut(all, most - 1)}…`;
  return { title: 'skills', output, metadata: { skills: names.length } };
}
