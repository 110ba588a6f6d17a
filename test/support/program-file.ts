import { execFileSync } from 'node:child_process';

/**
 * Writes a program that is run at once. Another process does it: while this one has the file open for writing, a child
 * that another test starts holds it open too until its own program runs, and Linux refuses to run such a file (ETXTBSY).
 */
export function writeProgram(path: string, text: string): string {
  const command = 'mkdir -p "$(dirname "$1")" && cat >"$1" && chmod 755 "$1"';
  execFileSync('/bin/sh', ['-c', command, 'sh', path], { input: text, stdio: ['pipe', 'ignore', 'inherit'] });
  return path;
}
