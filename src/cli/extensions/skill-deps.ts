import { AppError } from '../../core/util/errors.ts';
import { confirm } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { runInShell } from '../shell.ts';
import type { HomeFlag } from '../../core/cli/command.ts';
import { findSkill, openInstaller, tellRunning } from './find-skill.ts';

/** `assistant skills install-deps NAME`: shows the whole commands that get its missing programs, asks, runs exactly these. */
export async function skillsInstallDepsCommand(
  { name, yes, home }: HomeFlag & { readonly name: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const { stdout } = context;
  const skill = await findSkill(await openInstaller(home, context), name);
  const { missing, getting } = skill;
  if (missing.length === 0) {
    stdout.write(`${skill.name} has all that it needs.\n`);
    return 0;
  }
  stdout.write(`${skill.name} needs ${terminalText(missing.join(', '))}.\n`);
  for (const reason of getting.reasons) stdout.write(`${reason}\n`);
  if (getting.commands.length === 0) {
    const ways = skill.install.map((way) => `Its author says: ${terminalText(way)}\n`);
    stdout.write(`${ways.join('')}Nothing was installed.\n`);
    return 1;
  }
  const shown = getting.commands.join(' && ');
  if (!(await confirm(context, `Run this, outside the sandbox: ${shown} ?`, { yes }))) {
    stdout.write('Nothing was installed.\n');
    return 1;
  }
  for (const command of getting.commands) await run(command, context);
  // Looked up anew: a command may end well and bring nothing.
  const after = await findSkill(await openInstaller(home, context), name);
  await tellRunning(context, home);
  if (after.missing.length === 0) {
    stdout.write(`${after.name} has all that it needs now.\n`);
    return 0;
  }
  stdout.write(
    `${after.name} still needs ${terminalText(after.missing.join(', '))}. A program that was installed into a folder outside the PATH is not found.\n`,
  );
  return 1;
}

async function run(command: string, context: CliContext): Promise<void> {
  context.stdout.write(`$ ${command}\n`);
  const { failed, exitCode } = await runInShell(command, context);
  if (!failed) return;
  throw new AppError(
    'install-failed',
    `The command ended with ${exitCode === undefined ? 'an error' : `exit code ${exitCode}`}, so nothing more was run: ${command}`,
  );
}
