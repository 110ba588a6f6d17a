import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { replaceDurable } from '../storage/files.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { errorCode } from '../util/errors.ts';
import type { SkillText } from './skill.ts';
import { shownDescription } from './skills-index.ts';

/** Most bytes that are read of a `SKILL.md`; the rest is ignored. */
export const LARGEST_SKILL = 300_000;

/**
 * What a person was shown of skills. For skills of other programs: real path of the skill's folder → hash of the `SKILL.md`
 * that the person agreed to (`pinOf`). For skills in the workspace: `shownKey` → hash of the description (`shownPin`).
 */
export type SkillPins = ReadonlyMap<string, string>;

const pinsSchema = z.record(z.string(), z.string());

/** Reads the agreements. Empty when the file does not exist; empty with one warning when it cannot be read. Never throws. */
export function readPins(path: string): { readonly pins: SkillPins; readonly warnings: readonly string[] } {
  try {
    const pins = pinsSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return { pins: new Map(Object.entries(pins)), warnings: [] };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { pins: new Map(), warnings: [] };
    const warning = `${path} is damaged, so no skill of another program is used. Delete it, then enable the skills again: ${assistantCommand('skills enable --all')}`;
    return { pins: new Map(), warnings: [warning] };
  }
}

/** Adds agreements and removes those of the folders for which `gone` is true. Resolves when the file is durable. */
export async function addPins(path: string, added: SkillPins, gone: (folder: string) => boolean): Promise<void> {
  const kept = [...readPins(path).pins].filter(([folder]) => !gone(folder));
  const pins = Object.fromEntries([...kept, ...added]);
  await replaceDurable(path, `${JSON.stringify(pins, null, 2)}\n`);
}

/** SHA-256, in hex, of the part of a `SKILL.md` that is used. A person's agreement holds for this hash only. */
export function pinOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes.subarray(0, LARGEST_SKILL)).digest('hex');
}

/** The key for a skill in the workspace: the same after the home has moved. */
export function shownKey(name: string): string {
  return `skills/${name}`;
}

/** Changes with everything of the skill that the index shows and the owner was told. */
export function shownPin({ name, description }: Pick<SkillText, 'name' | 'description'>): string {
  return pinOf(Buffer.from(`${name}\n${shownDescription(description)}`));
}
