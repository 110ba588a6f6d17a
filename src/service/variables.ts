import { existsSync, readFileSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import { parseEnv } from 'node:util';
import { readIfExists, replaceDurable } from '../core/storage/files.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';
import type { Variables } from './program.ts';

const firstText = (): string => `# Keys and other variables of the service, one NAME=value on each line, for example:
# ANTHROPIC_API_KEY=…
# Then: ${assistantCommand('service restart')}
`;

/** The variables in a service's file. Null where this person may not read it; none where there is no such file. */
export function readVariables(path: string): Variables | null {
  if (!existsSync(path)) return {};
  try {
    const entries = Object.entries(parseEnv(readFileSync(path, 'utf8')));
    return Object.fromEntries(entries.flatMap(([name, value = '']) => (value === '' ? [] : [[name, value]])));
  } catch {
    return null;
  }
}

/** Whether systemd and launchd's launcher read this value as it is from a line of that file. */
export function fitsInLine(value: string): boolean {
  return !/['\n\r\0]/u.test(value);
}

/** Makes the file if there is none, adds a line for each variable, and lets its owner alone read it. */
export async function addVariables(path: string, added: Variables): Promise<void> {
  const before = await readIfExists(path);
  const begun = before ?? firstText();
  const lines = Object.entries(added).map(([name, value]) => `${name}='${value}'\n`);
  const text = lines.length === 0 ? begun : begun.replace(/[^\n]$/u, '$&\n') + lines.join('');
  if (text !== before) await replaceDurable(path, text);
  await chmod(path, 0o600);
}
