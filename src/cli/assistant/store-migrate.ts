import { basename } from 'node:path';
import { type ConfigDraft, draftChange, writeConfig } from '../../core/config/change.ts';
import type { HomePaths } from '../../core/config/home.ts';
import { loadConfig, type LoadedConfig } from '../../core/config/load.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';
import { plural } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { pathsOf } from '../../core/cli/open.ts';
import { print } from '../../core/cli/print.ts';
import { openProgress } from '../../core/cli/progress.ts';
import type { OutputFlags } from '../../core/cli/command.ts';
import { usageError } from '../../core/cli/usage.ts';
import { shownAddress, withoutPassword } from './store-address.ts';

const SETTING = ['store'];
const CANNOT_RUN = 78;

/** `assistant store migrate --to ADDRESS|local`: moves the home into PostgreSQL, or back into its folder. */
export async function storeMigrateCommand(
  { to, home, json }: OutputFlags & { readonly to: string | undefined },
  context: CliContext,
): Promise<number> {
  const value = settingOf(to);
  const paths = pathsOf(context, home);
  const now = await loadConfig({ program: context.program, home: paths.home, env: context.env });
  requireMovable(paths, now);
  const draft = await draftChange({ program: context.program, paths, env: context.env }, { path: SETTING, value });
  const store = value === undefined ? now.config.store : addressIn(draft, value);
  if (store === null) {
    print(context, json, {
      facts: { to: 'folder', moved: false },
      lines: [`The home is in its folder already; the setting store is not set in ${paths.config}.`],
    });
    return 0;
  }
  const isConfigured = now.config.store === store;
  if (now.config.store !== null && !isConfigured) {
    throw new AppError(
      'store-set',
      `The home is in ${shownAddress(now.config.store)}. To move it elsewhere, first run: ${assistantCommand('store migrate --to local')}`,
    );
  }
  await requireWritable(paths, draft, value);
  const { moveHome } = await context.app();
  using progress = openProgress(context);
  const moved = await withoutPassword(store, () =>
    moveHome({
      program: context.program,
      paths,
      to: value === undefined ? 'folder' : 'database',
      store,
      isConfigured,
      clock: context.clock,
      onStep: (text) => progress.show(text),
      switchOver: () => switchOver(paths, draft, value),
    }),
  );
  progress.hide();
  const name = basename(paths.home);
  const facts = {
    to: value === undefined ? 'folder' : 'database',
    moved: moved !== null,
    store: shownAddress(store),
    ...(moved === null ? {} : { rows: moved.rows, conversations: moved.conversations, files: moved.files }),
  };
  const where = value === undefined ? paths.home : shownAddress(store);
  const lines = [
    moved === null
      ? `The home ${name} was in ${where} already.`
      : `The home ${name} is in ${where}: ${plural(moved.rows, 'row')} of the journal, ${plural(moved.conversations, 'conversation')} and ${plural(moved.files, 'file')}, the same on both sides by counts and hashes.`,
    ...(value === undefined ? afterMovingOut(paths, store) : afterMovingIn(paths, value, store)),
  ];
  print(context, json, { facts, lines });
  return 0;
}

/** What is to stand in the setting; undefined: nothing. */
function settingOf(to: string | undefined): string | { readonly file: string } | undefined {
  if (to === undefined) throw usageError('Say where to with --to: postgres://USER@HOST/DATABASE, or local.');
  if (to === 'local') return undefined;
  if (to.startsWith('file:') && to.length > 'file:'.length) return { file: to.slice('file:'.length) };
  if (/^postgres(?:ql)?:\/\//u.test(to) || /\$\{\w+\}/u.test(to)) return to;
  throw usageError('--to takes postgres://USER@HOST/DATABASE, ${VARIABLE}, file:PATH or local.');
}

function requireMovable(paths: HomePaths, now: LoadedConfig): void {
  if (paths.host !== null || Object.keys(now.config.agents).length > 0) {
    throw new AppError(
      'store-with-agents',
      'The homes of further assistants (the setting agents) cannot be kept in PostgreSQL, so nothing was changed.',
      { exitCode: CANNOT_RUN },
    );
  }
  const variable = now.variableOf(SETTING);
  if (variable === undefined) return;
  throw new AppError(
    'store-in-variable',
    `The variable ${variable} sets store, and wins over config.json. Unset it, write its value to config.json as store if the home is in that database, and run this again. Nothing was changed.`,
    { exitCode: CANNOT_RUN },
  );
}

/** The address that the setting would have. */
function addressIn({ loaded, remaining }: ConfigDraft, value: unknown): string {
  const store = loaded?.config.store ?? '';
  if (/^postgres(?:ql)?:\/\//u.test(store)) return store;
  const why =
    remaining[0]?.sentence ??
    (store === '' && typeof value === 'string'
      ? 'The variable that --to names is not set.'
      : 'What --to names holds no address that begins with postgres://.');
  throw new AppError('config-invalid', `${why} Nothing was changed.`, { exitCode: CANNOT_RUN });
}

/** Writes the file as it is, so that one that cannot be written is known before anything is moved. */
async function requireWritable(paths: HomePaths, { before, text }: ConfigDraft, value: unknown): Promise<void> {
  if (before === undefined || before === text) return;
  try {
    await writeConfig(paths, { before, text: before });
  } catch (error) {
    // Taken out by hand now, the setting would leave an old copy to be run.
    const byHand = value === undefined ? '' : ', or put the setting store into it yourself,';
    throw new AppError(
      'config-not-written',
      `${paths.config} cannot be written: ${errorMessage(error)}. Nothing was changed. Make it writable${byHand} and run this again.`,
    );
  }
}

async function switchOver(paths: HomePaths, draft: ConfigDraft, value: unknown): Promise<void> {
  if (draft.text === draft.before) return;
  try {
    await writeConfig(paths, draft);
  } catch (error) {
    const what = value === undefined ? 'take the setting store out of it' : 'put the setting store into it';
    throw new AppError(
      'config-not-written',
      `Everything is copied, but ${paths.config} cannot be written: ${errorMessage(error)}. Change that, or ${what} yourself, and run this again.`,
    );
  }
}

function afterMovingIn(paths: HomePaths, value: unknown, store: string): readonly string[] {
  const hasPassword = typeof value === 'string' && shownAddress(value) !== value;
  return [
    `${paths.config} has it as the setting store.`,
    ...(hasPassword
      ? ["⚠ The password stands in that file now. To keep it elsewhere, use --to '${VARIABLE}' or --to file:PATH."]
      : []),
    `Start the assistant: ${assistantCommand('gateway')}. On another machine, start it in an empty folder named ${basename(paths.home)} that has the same config.json.`,
    'Gateways of many homes (the setting homes) run it by themselves; then this folder needs none.',
    ...(hasPassword || shownAddress(store) === store
      ? []
      : ['The variable or the file with the address has to be there too.']),
  ];
}

function afterMovingOut(paths: HomePaths, store: string): readonly string[] {
  return [
    `${paths.config} has no setting store any more.`,
    `Start the assistant: ${assistantCommand('gateway')}. Gateways on other machines do not start with this home as long as they name ${shownAddress(store)}, which keeps what it has as an old copy.`,
  ];
}
