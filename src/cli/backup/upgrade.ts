import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { backUpBefore, installVersion, tryVersion } from '../../backup/upgrade.ts';
import { confirmProgram, lockPrograms, prunePrograms, readPointer, writePointer } from '../../backup/programs.ts';
import type { HomePaths } from '../../core/config/home.ts';
import { readVersion } from '../../core/config/version.ts';
import { readSchema } from '../../core/storage/copy-database.ts';
import { readHolder } from '../../core/storage/lock.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import { timeForNames } from './backup.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import { openProgress } from '../../core/cli/progress.ts';
import { pathsOf } from '../open.ts';
import { programVariables } from '../../core/cli/program-variables.ts';
import { becomes, restartService, staysUp } from './running-version.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

interface UpgradeFlags extends OutputFlags {
  readonly version: string;
  readonly rehearse: boolean;
}

/** `assistant upgrade`: another version beside this one, tried on a copy, switched to, watched, and left again if it fails. */
export async function upgradeCommand(flags: UpgradeFlags, context: CliContext): Promise<number> {
  const paths = pathsOf(context, flags.home);
  if (flags.rehearse) return await rehearse(paths, context);
  const { clock, stdout } = context;
  const { node, program } = context.host();
  requirePackage(program);
  using _lock = await lockPrograms(paths.home, clock);
  using progress = openProgress(context);
  const say = (line: string): void => {
    progress.hide();
    if (!flags.json) stdout.write(`${terminalText(line)}\n`);
  };
  const at = { home: paths.home, node, env: programVariables(context) };
  const present = readVersion();
  const from = versionAt(program);
  const before = await readPointer(paths.home);
  const spec = existsSync(resolve(flags.version)) ? resolve(flags.version) : flags.version;

  progress.show('npm installs the new version');
  const next = await installVersion(spec, { ...at, present });
  if (next === null) {
    say(`Version ${present} is what you have.`);
    if (flags.json) print(context, true, { facts: { from: present, to: present, backup: null }, lines: [] });
    return 0;
  }
  say(`Version ${next.version} is installed beside ${present}.`);
  const running = readHolder(paths.lock) !== undefined;
  const stamp = timeForNames(clock.now());
  progress.show('The home is backed up');
  const backup = await backUpBefore(paths.home, { version: present, stamp, inUse: running, clock });
  say(`The home is backed up in ${backup}.`);
  progress.show('The new version is tried on a copy of the home');
  await tryVersion(next, { ...at, backup, clock });
  say('The new version starts on a copy of the home.');

  const isInstalledOne = next.version === from;
  await writePointer(paths.home, isInstalledOne ? undefined : { version: next.version, from, isConfirmed: false });
  if (running) {
    progress.show(`Version ${next.version} is started and watched`);
    const reason = await switchTo(next.version, paths, context);
    if (reason !== null) {
      await writePointer(paths.home, before);
      const isBack = await wayBack(present, paths, context);
      const state = isBack
        ? `Version ${present} runs again, with the home as it is.`
        : `Version ${present} is the one that starts again, but it does not run: ${assistantCommand('service start')}, or ${assistantCommand('gateway')}`;
      throw new AppError('upgrade-failed', `Version ${next.version} did not stay up: ${reason}. ${state}`);
    }
    await confirmProgram(paths.home, next.version);
  }
  progress.hide();
  await prunePrograms(paths.home, [next.version, present]);
  print(context, flags.json, {
    facts: { from: present, to: next.version, backup, running },
    lines: [running ? `Version ${next.version} runs.` : `Version ${next.version} runs from the next start on.`],
    escape: terminalText,
  });
  return 0;
}

/** Null: the new version runs and stays up. */
async function switchTo(version: string, paths: HomePaths, context: CliContext): Promise<string | null> {
  try {
    await askForRestart(paths, context);
    await becomes(version, paths, context);
    await staysUp(version, paths, context);
    return null;
  } catch (error) {
    return errorMessage(error).replace(/[.\s]*$/u, '');
  }
}

/** Whether the previous version runs again. The launcher starts it already; only the new one has to be ended. */
async function wayBack(version: string, paths: HomePaths, context: CliContext): Promise<boolean> {
  await askForRestart(paths, context).catch(() => {});
  try {
    await becomes(version, paths, context);
    return true;
  } catch {
    await restartService(paths.home, context);
    return await becomes(version, paths, context).then(
      () => true,
      () => false,
    );
  }
}

/** As `/restart` in a chat: what runs comes to a stop in order, and the process begins anew. */
async function askForRestart(paths: HomePaths, context: CliContext): Promise<void> {
  await using assistant = await context.connect(paths.socket);
  // The connection ends with the process.
  await assistant
    ?.open('main')
    .send({ text: '/restart' })
    .catch(() => {});
}

/** `upgrade --rehearse`: a whole start that reaches no one. */
async function rehearse(paths: HomePaths, context: CliContext): Promise<number> {
  const { createAssistant } = await context.app();
  {
    await using assistant = await createAssistant({
      home: paths.home,
      serve: 'local',
      rehearsal: true,
      environment: context.env,
      config: { log: { level: 'error' } },
    });
    await assistant.alive();
    await assistant.call('info', {});
  }
  const facts = { version: readVersion(), journal: readSchema(paths.state) };
  print(context, true, { facts, lines: [] });
  return 0;
}

function requirePackage(program: string): void {
  if (program.endsWith('/node_modules/assistantd/dist/launcher.cjs') && !program.includes('/_npx/')) return;
  const how = program.endsWith('/src/launcher.cjs')
    ? 'This is a clone. Update it with: git pull && npm ci'
    : 'This program was not installed by npm. In Docker, update it with: git pull && docker compose up -d --build';
  throw new AppError('upgrade-other', `${how}. Make a backup before: ${assistantCommand('backup')}`);
}

/** The version of the package whose launcher this is, which may have started a newer one. */
function versionAt(program: string): string {
  const facts: unknown = JSON.parse(readFileSync(join(dirname(program), '..', 'package.json'), 'utf8'));
  return typeof facts === 'object' && facts !== null && 'version' in facts ? String(facts.version) : '';
}
