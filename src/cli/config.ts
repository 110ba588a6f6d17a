import { type Finding, sentenceOf } from '../core/util/finding.ts';
import { configJsonSchema } from '../core/config/init.ts';
import { draftChange, openCopy, problemsOf, writeConfig } from '../core/config/change.ts';
import { placed } from '../core/config/config-error.ts';
import type { HomePaths } from '../core/config/home.ts';
import { loadConfig, type LoadedConfig } from '../core/config/load.ts';
import { shownSetting } from '../core/config/origin.ts';
import { parsePath, pathText, schemaAt, valueFromText } from '../core/config/setting.ts';
import { assistantCommand } from '../core/util/assistant-command.ts';
import { AppError } from '../core/util/errors.ts';
import { confirm } from '../core/cli/confirm.ts';
import type { CliContext } from '../core/cli/context.ts';
import { escapeInvisible, json as asJson, terminalText } from '../core/cli/format.ts';
import { print } from '../core/cli/print.ts';
import type { Program } from '../core/program.ts';
import { pathsOf, programOfHome } from '../core/cli/open.ts';
import { runInShell } from './shell.ts';
import type { HomeFlag, OutputFlags } from '../core/cli/command.ts';

/** Exit code for a configuration that the assistant cannot run with. */
const CANNOT_RUN = 78;

/** `assistant config get [PATH]`: what is in force, without a secret, and where it is from. */
export async function configGetCommand(
  { path: text, home, json }: OutputFlags & { readonly path: string | undefined },
  context: CliContext,
): Promise<number> {
  const path = text === undefined ? [] : parsePath(text);
  const loaded = await loadConfig({ program: context.program, home: pathsOf(context, home).home, env: context.env });
  const shown = shownSetting(loaded, path, context.env);
  if (shown === undefined) {
    throw new AppError(
      'setting-unknown',
      `There is no setting ${pathText(path)}. To see all of them, run: ${assistantCommand('config get')}`,
    );
  }
  const { value = null, isSecret, from } = shown;
  const said = isSecret ? `set, from ${from}; a secret is not shown` : asJson(value);
  const isGroup = typeof value === 'object' && value !== null && !Array.isArray(value);
  const lines = isSecret || isGroup ? [said] : [`${said}  (${from})`];
  print(context, json, { facts: { path: pathText(path), value, isSecret, ...(isGroup ? {} : { from }) }, lines });
  return 0;
}

/** `assistant config set PATH VALUE`. */
export async function configSetCommand(
  { path: text, value: given, ...flags }: OutputFlags & { readonly path: string; readonly value: string },
  context: CliContext,
): Promise<number> {
  const path = parsePath(text);
  const value = given === '-' ? await readInput(context) : given;
  const program = await programFor(context, flags.home, path);
  return await change({ ...context, program }, flags, { path, value: valueFromText(schemaAt(program, path), value) });
}

/** `assistant config unset PATH`. */
export async function configUnsetCommand(
  { path, ...flags }: OutputFlags & { readonly path: string },
  context: CliContext,
): Promise<number> {
  const parsed = parsePath(path);
  const program = await programFor(context, flags.home, parsed);
  return await change({ ...context, program }, flags, { path: parsed, value: undefined });
}

/** Only a setting that nothing else knows may be one of a package. */
async function programFor(context: CliContext, home: string | undefined, path: readonly string[]): Promise<Program> {
  const isKnown = schemaAt(context.program, path) !== undefined;
  return isKnown ? context.program : await programOfHome(context, pathsOf(context, home));
}

async function change(
  context: CliContext,
  { home, json }: OutputFlags,
  { path, value }: { readonly path: readonly string[]; readonly value: unknown },
): Promise<number> {
  const paths = pathsOf(context, home);
  const { env } = context;
  const draft = await draftChange({ program: context.program, paths, env }, { path, value });
  const changed = draft.text !== draft.before;
  const noModel = await modelTrouble(context, paths, draft.loaded);
  if (noModel !== undefined && noModel !== (await modelTrouble(context, paths, draft.was))) {
    throw new AppError('config-invalid', `${noModel} Nothing was changed.`, { exitCode: CANNOT_RUN });
  }
  if (changed) await writeConfig(paths, draft);
  const name = pathText(path);
  const what = value === undefined ? 'is no longer set' : 'is set';
  const lines = [
    changed ? `${name} ${what} in ${paths.config}.` : `${name} was that already; ${paths.config} is as it was.`,
    ...overruled(draft.loaded, path),
    ...draft.remaining.map((problem) => `⚠ Still wrong: ${placed(problem, paths.config)}`),
    ...(noModel === undefined ? [] : [`⚠ Still wrong: ${noModel}`]),
    ...(changed ? await effectLines(context, paths.socket) : []),
  ];
  print(context, json, { facts: { path: name, changed, file: paths.config, lines: lines.slice(1) }, lines });
  return 0;
}

function overruled(loaded: LoadedConfig | undefined, path: readonly string[]): readonly string[] {
  const variable = loaded?.variableOf(path);
  return variable === undefined ? [] : [`⚠ The variable ${variable} sets it too, and wins.`];
}

/** What a running assistant makes of a change; nothing where none runs. */
async function effectLines(context: CliContext, socket: string): Promise<readonly string[]> {
  const running = await context.connect(socket);
  if (running === undefined) return [];
  await using assistant = running;
  const { changes, refused, behind } = await assistant.call('configReload', {});
  const kept = behind === undefined ? [] : [`⚠ ${behind}`];
  if (refused !== null) return [`⚠ The assistant that runs did not take it up: ${refused}`, ...kept];
  return [...changes.map(({ path, effect }) => `${path} ${EFFECTS[effect]}`), ...kept];
}

const EFFECTS = {
  live: 'is in force from the next message on.',
  rebuild: 'is in force: what it belongs to was started anew.',
  restart: 'is in force after a restart: send /restart to the assistant.',
} as const;

/** `assistant config edit`: an editor on a copy, which becomes `config.json` only when the assistant can run with it. */
export async function configEditCommand({ home }: HomeFlag, context: CliContext): Promise<number> {
  const paths = pathsOf(context, home);
  const { env, stdout } = context;
  const copy = await openCopy(paths, env);
  for (;;) {
    await openEditor(copy.path, context);
    const text = await copy.read();
    const { loaded, problems } = await problemsOf(context.program, paths.home, env, text);
    const noModel = await modelTrouble(context, paths, loaded);
    if (problems.length === 0 && noModel === undefined) {
      if (text === copy.before) {
        stdout.write('Nothing was changed.\n');
      } else {
        await writeConfig(paths, { before: copy.before, text });
        const lines = [`${paths.config} is changed.`, ...(await effectLines(context, paths.socket))];
        stdout.write(`${terminalText(lines.join('\n'))}\n`);
      }
      await copy.remove();
      return 0;
    }
    const found = [...problems.map((problem) => placed(problem, copy.path)), noModel ?? []].flat();
    stdout.write(found.map((sentence) => `✗ ${escapeInvisible(sentence)}\n`).join(''));
    if (context.stdin.isTTY === true && (await confirm(context, 'Back into the editor?', { yes: false }))) continue;
    throw new AppError(
      'config-invalid',
      `Nothing was changed: the assistant could not run like that. Your text is kept in ${copy.path} until the next edit.`,
      { exitCode: CANNOT_RUN },
    );
  }
}

async function openEditor(file: string, context: CliContext): Promise<void> {
  const editor = context.env['VISUAL'] ?? context.env['EDITOR'] ?? 'vi';
  // An editor is a command line: `code --wait`.
  const { failed } = await runInShell(`${editor} "$1"`, context, [file]);
  if (!failed) return;
  throw new AppError(
    'editor-failed',
    `The editor ${JSON.stringify(editor)} ended with an error, so nothing was changed. Name another in the variable EDITOR, e.g. EDITOR=nano.`,
  );
}

/** `assistant config check`: exit code 78 when the assistant cannot run like that. */
export async function configCheckCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const paths = pathsOf(context, home);
  const { loaded, problems } = await problemsOf(context.program, paths.home, context.env);
  const atRest = loaded === undefined ? undefined : await restOf(context, paths, loaded);
  const noModel = atRest?.noModel ?? [];
  const found = [...problems.map((problem) => placed(problem, paths.config)), ...noModel];
  const warnings = atRest?.warnings ?? [];
  const runs = found.length === 0;
  const lines = [
    ...found.map((sentence) => `✗ ${sentence}`),
    ...warnings.map((sentence) => `⚠ ${sentence}`),
    ...(runs ? [`✓ The assistant can run with ${loaded?.exists === true ? loaded.path : 'the defaults'}.`] : []),
  ];
  const facts = {
    runs,
    problems: [
      ...problems.map(({ path, sentence, place }) => ({ path, sentence, ...place })),
      ...noModel.map((sentence) => ({ path: 'agent.model', sentence })),
    ],
    warnings,
  };
  print(context, json, { facts, lines });
  return runs ? 0 : CANNOT_RUN;
}

/** Why no model could be called with a configuration; undefined: one could. */
async function modelTrouble(
  context: CliContext,
  paths: HomePaths,
  loaded: LoadedConfig | undefined,
): Promise<string | undefined> {
  return loaded === undefined ? undefined : (await restOf(context, paths, loaded)).noModel[0];
}

async function restOf(
  { clock }: CliContext,
  paths: HomePaths,
  loaded: LoadedConfig,
): Promise<{ readonly noModel: readonly string[]; readonly warnings: readonly string[] }> {
  const { homeAtRest } = await import('../core/start/home-at-rest.ts');
  const { findings } = homeAtRest(paths, loaded, clock);
  const isModel = ({ id }: Finding): boolean => id === 'model.answers';
  return {
    noModel: findings.filter(isModel).map(sentenceOf),
    warnings: findings.filter((finding) => !isModel(finding)).map(sentenceOf),
  };
}

/** `assistant config schema`. */
export async function configSchemaCommand(_flags: HomeFlag, { program, stdout }: CliContext): Promise<number> {
  stdout.write(`${asJson(configJsonSchema(program))}\n`);
  return 0;
}

async function readInput({ stdin }: CliContext): Promise<string> {
  let text = '';
  for await (const chunk of stdin) text += String(chunk);
  return text.replace(/\r?\n$/u, '');
}
