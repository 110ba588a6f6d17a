import type { CliContext } from '../core/cli/context.ts';

/**
 * Runs a line of the shell at the person's terminal, with `args` as `$1`, `$2` …; its exit code is undefined when it did
 * not end by itself. Never rejects.
 */
export async function runInShell(
  line: string,
  { env }: CliContext,
  args: readonly string[] = [],
): Promise<{ readonly failed: boolean; readonly exitCode: number | undefined }> {
  const { execa } = await import('execa');
  const { failed, exitCode } = await execa('/bin/sh', ['-c', line, 'sh', ...args], {
    env,
    extendEnv: false,
    stdio: 'inherit',
    reject: false,
  });
  return { failed, exitCode };
}
