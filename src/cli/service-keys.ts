import { loadConfig } from '../core/config/load.ts';
import type { CliContext } from '../core/cli/context.ts';
import type { Places } from '../service/places.ts';
import type { Variables } from '../service/program.ts';
import { fitsInLine, readVariables } from '../service/variables.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';
import { AppError } from '../core/util/errors.ts';

/** What the service is given of this terminal's variables. */
export interface ServiceKeys {
  readonly copied: Variables;
  /** What the person should know. */
  readonly notes: readonly string[];
}

/**
 * Finds the variables that the configuration of a service's home takes from this terminal and that the service would
 * not have; copies them after a yes. Values are never shown. Nothing is asked where nothing is missing.
 */
export async function keysForService(
  { home, variables: file }: Places,
  { program, env }: Pick<CliContext, 'program' | 'env'>,
  agree: (question: string) => Promise<boolean>,
): Promise<ServiceKeys> {
  const missing = await missingVariables(home, file, { program, env });
  if (missing.length === 0) return { copied: {}, notes: [] };
  const fitting = missing.filter((name) => fitsInLine(env[name] ?? ''));
  const unfit = missing.filter((name) => !fitting.includes(name));
  const names = fitting.join(', ');
  const question = `The service does not see the variables of this terminal. Copy ${names} into ${file}, which you alone can read?`;
  if (fitting.length === 0 || !(await agree(question))) {
    const note = `The service does not see the variables of this terminal, and its configuration needs ${missing.join(', ')}. To copy them into ${file}: ${assistantCommand('service install --copy-keys')}`;
    return { copied: {}, notes: [note] };
  }
  const byHand = `${unfit.join(', ')} was not copied, because it has a line break or an apostrophe. Keep it in a file, and name that in config.json: {"file": "…"}`;
  return {
    copied: Object.fromEntries(fitting.map((name) => [name, env[name] ?? ''])),
    notes: [`Copied into ${file}: ${names}.`, ...(unfit.length === 0 ? [] : [byHand])],
  };
}

async function missingVariables(
  home: string,
  file: string,
  { program, env }: Pick<CliContext, 'program' | 'env'>,
): Promise<readonly string[]> {
  const own = readVariables(file);
  if (own === null) return [];
  try {
    const { variables } = await loadConfig({ program, home, env });
    return variables.filter((name) => !Object.hasOwn(own, name));
  } catch (error) {
    // What is wrong with its configuration the service says itself.
    if (error instanceof AppError) return [];
    throw error;
  }
}
