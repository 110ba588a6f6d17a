import type { GettingPrograms, InstallStep } from './install-steps.ts';

/** The file beside a SKILL.md that says how the skill is tested. A model does not hear of it: it names what is expected. */
export const CASES_FILE = 'cases.yaml';

/** The content of a `SKILL.md`, read leniently: mistakes are listed in `warnings`, never thrown. */
export interface SkillText {
  /** Usable as a word in a command and in `$name`: lower case letters, digits, hyphens. */
  readonly name: string;
  /** The name as its author wrote it, white space folded; only where it differs from `name`. */
  readonly writtenName?: string;
  /** One paragraph, white space folded, never empty. */
  readonly description: string;
  /** What stands behind the front matter, line ends as LF. */
  readonly body: string;
  /** Its full text is in every prompt. @default false */
  readonly always: boolean;
  /** People may call it as `/name args`. @default true */
  readonly userInvocable: boolean;
  /** It is not in the index that the model sees. @default false */
  readonly disableModelInvocation: boolean;
  readonly requires: SkillRequirements;
  /** Platforms as in Node's `process.platform`; empty: all. */
  readonly os: readonly string[];
  /** The variable that holds its key, by name. */
  readonly primaryEnv?: string;
  /** How its needs may be installed, one line each; shown, never run. */
  readonly install: readonly string[];
  /** The same for a program to read; what it cannot read is left out. */
  readonly installSteps: readonly InstallStep[];
  readonly homepage?: string;
  readonly license?: string;
  /** What may be called while it is active; null: no limit. */
  readonly allowedTools: readonly AllowedTool[] | null;
  /** One sentence each. */
  readonly warnings: readonly string[];
}

export interface SkillRequirements {
  /** Programs that must all be on the PATH. */
  readonly bins: readonly string[];
  /** Programs of which one must be. */
  readonly anyBins: readonly string[];
  /** Variables that must be set, for the skill or for the process. */
  readonly env: readonly string[];
  /** Paths of settings that must be there and true, such as `channels.discord.token`. */
  readonly config: readonly string[];
}

/** A tool by the name it has here; for exec perhaps the only commands that may begin so. */
export interface AllowedTool {
  readonly tool: string;
  /** Words that the command must begin with, from `Bash(git:*)`. */
  readonly commandPrefix?: string;
}

/** A skill in its folder. */
export interface Skill extends SkillText {
  /** Real path of its folder. */
  readonly folder: string;
  /** Real path of its `SKILL.md`. */
  readonly file: string;
  readonly source: 'workspace' | 'user' | 'package';
  /** Others may have written its text: it did not come along, and the configuration does not vouch for it. */
  readonly foreign: boolean;
  /** What it needs and is not there, one short phrase each (`program gh`); empty: it can be used. */
  readonly missing: readonly string[];
  /** How the missing programs come onto this system. */
  readonly getting: GettingPrograms;
}
