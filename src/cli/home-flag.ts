import type { CliContext } from './context.ts';

/** The home that a command line names; for what is looked up after a failure. */
export function homeFlag(argv: readonly string[]): string | undefined {
  return argv[argv.indexOf('--home') + 1 || argv.length];
}

/** Whether the home of this command line has log level `debug`; looked up only after a failure. */
export async function isDebugging(context: CliContext, argv: readonly string[]): Promise<boolean> {
  try {
    const [{ loadConfig }, { resolveHome }] = await Promise.all([
      import('../config/load.ts'),
      import('../config/environment.ts'),
    ]);
    const home = resolveHome({ flag: homeFlag(argv), env: context.env });
    return (await loadConfig({ home, env: context.env })).config.log.level === 'debug';
  } catch {
    return false;
  }
}
