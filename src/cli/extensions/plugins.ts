import { sentenceOf } from '../../core/util/finding.ts';
import { openPluginInstaller, type PluginInstaller, type PluginPlan } from '../../core/plugins/plugin-installer.ts';
import { draftChange, writeConfig } from '../../core/config/change.ts';
import { loadConfig } from '../../core/config/load.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { oneLine, plural } from '../../core/util/text.ts';
import { confirm } from '../../core/cli/confirm.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { openAssistant, pathsOf } from '../../core/cli/open.ts';
import { print } from '../../core/cli/print.ts';
import { openProgress } from '../../core/cli/progress.ts';
import { programVariables } from '../../core/cli/program-variables.ts';
import type { HomeFlag, OutputFlags } from '../../core/cli/command.ts';

function stateText(state: string): string {
  switch (state) {
    case 'not enabled':
      return `found, not enabled (enable it with: ${assistantCommand('plugins add NAME')})`;
    case 'safe mode':
      return 'not loaded, because the assistant runs in safe mode (/restart ends it)';
    default:
      return state;
  }
}

const RIGHTS =
  'A plugin runs inside the assistant with all of its rights: it can read your files and secrets, act in your name, and change what the assistant says. Add only what you trust.';

/** `assistant plugins [list]`. */
export async function pluginsListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const plugins = await assistant.port.call('pluginsList', {});
  const lines = plugins.map(({ name, version, state }) => {
    return `${name}${version === null || version === '' ? '' : ` ${version}`}: ${stateText(state)}`;
  });
  print(context, json, { facts: plugins, lines, nothing: 'There are no plugins.' });
  return 0;
}

/** `assistant plugins add SOURCE`: shows what it is, asks, and runs it from then on. */
export async function pluginsAddCommand(
  { source, yes, home }: HomeFlag & { readonly source: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const installer = openInstaller(home, context);
  const plan = await planned(installer, source, context);
  context.stdout.write(`${terminalText(aboutPlan(plan).join('\n'))}\n${RIGHTS}\n`);
  let isAgreed = false;
  try {
    isAgreed = await confirm(context, `Run ${plan.name} in the assistant?`, { yes });
  } finally {
    if (!isAgreed) await installer.discard(plan);
  }
  if (!isAgreed) {
    context.stdout.write('Nothing was added.\n');
    return 1;
  }
  await installer.agree(plan);
  await changeListed(context, home, (listed) => (listed.includes(plan.name) ? listed : [...listed, plan.name]));
  return await tellState(context, home, plan.name);
}

/** `assistant plugins remove NAME`. */
export async function pluginsRemoveCommand(
  { name, yes, home }: HomeFlag & { readonly name: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  const installer = openInstaller(home, context);
  const found = await installer.find(name);
  const listed = await listedIn(context, home);
  if (found === undefined && !listed.includes(name)) {
    throw new AppError(
      'plugin-unknown',
      `There is no plugin ${JSON.stringify(name)}. To see them all, run: ${assistantCommand('plugins list')}`,
    );
  }
  if (!(await confirm(context, `Remove ${name}${found === undefined ? '' : ` in ${found.folder}`}?`, { yes }))) {
    context.stdout.write('Nothing was removed.\n');
    return 1;
  }
  if (listed.includes(name)) await changeListed(context, home, (all) => all.filter((other) => other !== name));
  await reload(context, home);
  const isDeleted = await installer.remove(name);
  const stays = found !== undefined && !isDeleted ? ` Its package stays in ${found.folder}.` : '';
  context.stdout.write(`${terminalText(`Removed ${name}.${stays}`)}\n`);
  return 0;
}

/** `assistant plugins reload`: an assistant that runs looks at its plugins again. */
export async function pluginsReloadCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const running = await context.connect(pathsOf(context, home).socket);
  if (running === undefined) {
    throw new AppError('not-running', 'No assistant runs for this home; plugins are loaded when one starts.');
  }
  await using assistant = running;
  const { refused } = await assistant.call('configReload', {});
  if (refused !== null) throw new AppError('config-invalid', refused);
  const { findings } = await assistant.call('info', {});
  const about = findings.filter(({ id }) => id === 'plugins.there').map(sentenceOf);
  const plugins = (await assistant.call('pluginsList', {})).filter(({ state }) => state !== 'not enabled');
  const lines = [...plugins.map(({ name, state }) => `${name}: ${state}`), ...about.map((warning) => `⚠ ${warning}`)];
  print(context, json, { facts: { plugins, warnings: about }, lines, nothing: 'No plugin is enabled.' });
  return about.length === 0 ? 0 : 1;
}

/** Fetching may take minutes. */
async function planned(installer: PluginInstaller, source: string, context: CliContext): Promise<PluginPlan> {
  using progress = openProgress(context);
  progress.show(`Looking for ${source}`);
  return await installer.plan(source);
}

function openInstaller(home: string | undefined, context: CliContext): PluginInstaller {
  return openPluginInstaller(pathsOf(context, home), { node: context.host().node, env: programVariables(context) });
}

function aboutPlan({
  name,
  version,
  description,
  folder,
  files,
  fingerprint,
  isFetched,
  readOnlyTools,
}: PluginPlan): readonly string[] {
  return [
    `${name}${version === '' ? '' : ` ${version}`}${description === '' ? '' : `: ${description}`}`,
    `${isFetched ? 'Fetched' : folder}: ${plural(files, 'file')}, SHA-256 ${fingerprint.slice(0, 16)}…`,
    `Tools that only read, as it says, so they need no approval: ${readOnlyTools.map((tool) => oneLine(tool, 64)).join(', ') || 'none'}. All others need approval in a private conversation with text from others.`,
  ];
}

async function listedIn(context: CliContext, home: string | undefined): Promise<readonly string[]> {
  const { config } = await loadConfig({
    program: context.program,
    home: pathsOf(context, home).home,
    env: context.env,
  });
  return config.plugins;
}

async function changeListed(
  context: CliContext,
  home: string | undefined,
  change: (listed: readonly string[]) => readonly string[],
): Promise<void> {
  const paths = pathsOf(context, home);
  const listed = await listedIn(context, home);
  const value = change(listed);
  if (JSON.stringify(value) === JSON.stringify(listed)) return;
  const draft = await draftChange({ program: context.program, paths, env: context.env }, { path: ['plugins'], value });
  if (draft.text !== draft.before) await writeConfig(paths, draft);
}

/** Has an assistant that runs take up what changed; false: none runs. */
async function reload(context: CliContext, home: string | undefined): Promise<boolean> {
  const running = await context.connect(pathsOf(context, home).socket);
  if (running === undefined) return false;
  await using assistant = running;
  const { refused, behind } = await assistant.call('configReload', {});
  if (refused !== null) throw new AppError('config-invalid', refused);
  if (behind !== undefined) context.stderr.write(`⚠ ${behind}\n`);
  return true;
}

async function tellState(context: CliContext, home: string | undefined, name: string): Promise<number> {
  if (!(await reload(context, home))) {
    context.stdout.write(`Added ${terminalText(name)}. It runs when the assistant starts.\n`);
    return 0;
  }
  await using assistant = await openAssistant(context, home);
  const state = (await assistant.port.call('pluginsList', {})).find((one) => one.name === name)?.state;
  if (state === 'waits for a restart') {
    context.stdout.write(`Added ${terminalText(name)}. It runs after a restart: send /restart.\n`);
    return 0;
  }
  const { findings } = await assistant.port.call('info', {});
  const about = findings
    .filter(({ id, facts }) => id === 'plugins.there' && facts?.['plugin'] === name)
    .map(sentenceOf);
  const lines = [`Added ${name}. It is ${state ?? 'not there'}.`, ...about.map((warning) => `⚠ ${warning}`)];
  context.stdout.write(`${terminalText(lines.join('\n'))}\n`);
  return state === 'running' && about.length === 0 ? 0 : 1;
}
