import { normalize } from 'node:path';
import { within } from '../../security/paths/rules.ts';
import { runsOnly } from '../../security/commands/prefix.ts';
import type { ActiveSkills } from '../tool.ts';

/** Always allowed: loading another skill, which adds its own limits. */
const FREE = new Set(['skill']);
/** Allowed for the files of an active skill. */
const READERS = new Set(['read_file', 'list_dir', 'glob', 'grep']);

/** Why the limits of the active skills refuse a call; null when they allow it. */
export function refusedBySkills(
  tool: string,
  params: Readonly<Record<string, unknown>>,
  skills: ActiveSkills,
): string | null {
  if (skills.allowed === null || FREE.has(tool)) return null;
  const path = params['path'];
  if (
    READERS.has(tool) &&
    typeof path === 'string' &&
    skills.folders.some((folder) => within(folder, normalize(path)))
  ) {
    return null;
  }
  const rules = skills.allowed.filter((rule) => rule.tool === tool);
  const prefixes = rules.flatMap(({ commandPrefix }) => commandPrefix ?? []);
  if (rules.some(({ commandPrefix }) => commandPrefix === undefined)) return null;
  const command = params['command'];
  if (prefixes.length > 0 && typeof command === 'string' && runsOnly(command, prefixes)) return null;
  const limits = skills.allowed.map((rule) =>
    rule.commandPrefix === undefined ? rule.tool : `${rule.tool} (only ${rule.commandPrefix} …)`,
  );
  const all = [...new Set(limits)].join(', ') || 'nothing';
  return `${tool} cannot be called: until this turn ends the active skill (${skills.limitedBy.join(', ')}) allows only ${all}.`;
}
