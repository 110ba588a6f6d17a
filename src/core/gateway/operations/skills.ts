import * as z from 'zod';
import { answers } from './operation.ts';

/** A skill, and whether it can be used. */
export interface SkillFacts {
  readonly name: string;
  readonly description: string;
  /** `workspace`: added to this home; `user`: of another program; `package`: came along. */
  readonly source: 'workspace' | 'user' | 'package';
  readonly enabled: boolean;
  /** Another program brought it, and no one agreed to its present text. */
  readonly found: boolean;
  /** What it needs and is not there. */
  readonly missing: readonly {
    readonly what: string;
    /** How to get it; null: nobody knows. */ readonly how: string | null;
  }[];
  /** Its mistakes, one sentence each. */
  readonly warnings: readonly string[];
  readonly folder: string;
}

/** A skill in an archive, as a person should see it before they agree. */
export interface SkillOffer {
  readonly name: string;
  readonly description: string;
  readonly files: readonly {
    readonly path: string;
    /** Bytes. */ readonly size: number;
    readonly executable: boolean;
  }[];
  /** What one should look at. An empty list proves nothing. */
  readonly risks: readonly {
    readonly title: string;
    /** `file:line`. */
    readonly where: string;
    readonly line: string;
  }[];
  readonly warnings: readonly string[];
  /** A skill of this name is there, and this one would take its place. */
  readonly replaces: boolean;
  /** Stands for what was shown here, and for what would be replaced. */
  readonly hash: string;
  readonly installed: boolean;
}

const name = z.string().min(1).max(100).describe('Name of the skill.');

export const skills = {
  skillsList: answers<readonly SkillFacts[]>()({
    description: 'Lists the skills: those that can be used, what others need, and those that are switched off.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  skillsSet: answers<null>()({
    description:
      'Switches a skill on or off in the configuration, in force at once; `unknown-skill` if there is none of this name, `skill-not-agreed` for one that another program brought and no one agreed to.',
    role: 'owner',
    changes: true,
    params: z.object({ name, enabled: z.boolean().describe('Whether it is used.') }),
    audit: ({ name: which, enabled }) => `skills ${enabled ? 'enable' : 'disable'} ${which}`,
  }),
  skillsInstall: answers<SkillOffer>()({
    description:
      'Reads a skill from an uploaded zip archive and returns what one should see before agreeing; called again with the `hash` of that, it adds the skill to the workspace. `skill-refused` for an archive that is not taken, `skill-exists` if it would replace a skill and `replace` is not true, `skill-changed` if the hash is not that of what would happen now.',
    role: 'owner',
    changes: true,
    params: z.object({
      upload: z.string().max(100).describe('Id of the uploaded zip archive.'),
      confirm: z.string().max(64).exactOptional().describe('`hash` of what was shown; without it nothing is added.'),
      replace: z.boolean().exactOptional().describe('Whether it may take the place of a skill of the same name.'),
    }),
    audit: ({ upload, confirm }) => (confirm === undefined ? null : `skills install ${upload}, ${confirm}`),
  }),
  skillsRemove: answers<null>()({
    description:
      'Removes a skill of the workspace; `unknown-skill` if there is none of this name, `skill-not-removable` for one that lies elsewhere.',
    role: 'owner',
    changes: true,
    params: z.object({ name }),
  }),
};
