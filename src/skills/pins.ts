import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { replaceDurable } from '../storage/files.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { errorCode } from '../util/errors.ts';

/** Bytes of one `SKILL.md` that are read; what stands behind them is left out. */
export const LARGEST_SKILL = 300_000;

/** By the real path of a skill's folder: the hash of the `SKILL.md` that a person agreed to. */
export type SkillPins = ReadonlyMap<string, string>;

const pinsSchema = z.record(z.string(), z.string());

/** None where there is no such file. What cannot be read counts as no agreement at all, with one sentence. */
export function readPins(path: string): { readonly pins: SkillPins; readonly warnings: readonly string[] } {
  try {
    const pins = pinsSchema.parse(JSON.parse(readFileSync(path, 'utf8')));
    return { pins: new Map(Object.entries(pins)), warnings: [] };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { pins: new Map(), warnings: [] };
    const warning = `${path} is damaged, so no skill of another program is used. Delete it, then agree again: ${assistantCommand('skills enable --all')}`;
    return { pins: new Map(), warnings: [warning] };
  }
}

/** Adds to the pins; durable when it resolves. Those of folders in `gone` leave. */
export async function addPins(path: string, added: SkillPins, gone: (folder: string) => boolean): Promise<void> {
  const kept = [...readPins(path).pins].filter(([folder]) => !gone(folder));
  const pins = Object.fromEntries([...kept, ...added]);
  await replaceDurable(path, `${JSON.stringify(pins, null, 2)}\n`);
}

/** What a yes is bound to: all of a `SKILL.md` that is ever used. */
export function pinOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes.subarray(0, LARGEST_SKILL)).digest('hex');
}
