import { resolve } from 'node:path';
import type { ToolCallPart } from '../../providers/provider.ts';

/** Tools whose `path` is a file or folder. */
const WITH_PATH: ReadonlySet<string> = new Set(['read_file', 'write_file', 'edit_file', 'list_dir', 'grep', 'glob']);
/** The lines of a patch that name a file. */
const IN_PATCH = /^\*\*\* (?:Add|Update|Delete) File: (?<path>.+)$/gmu;
const MOST_FILES = 50;

/** The files that a call names, as absolute paths; relative ones begin at `folder`. */
export function filesOf({ name, arguments: given }: ToolCallPart, folder: string): readonly string[] {
  const fields = fieldsOf(given);
  if (name === 'apply_patch') {
    const patch = Object.values(fields).find((value) => typeof value === 'string' && value.includes('*** '));
    const named = typeof patch === 'string' ? [...patch.matchAll(IN_PATCH)] : [];
    return named.slice(0, MOST_FILES).map(({ groups }) => resolve(folder, groups?.['path']?.trim() ?? ''));
  }
  const { path } = fields;
  return WITH_PATH.has(name) && typeof path === 'string' && path !== '' ? [resolve(folder, path)] : [];
}

function fieldsOf(given: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(given);
    return typeof value === 'object' && value !== null ? { ...value } : {};
  } catch {
    return {};
  }
}
