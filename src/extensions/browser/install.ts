import {
  type CliContext,
  confirm,
  draftChange,
  type HomeFlag,
  loadConfig,
  openProgress,
  pathsOf,
  programVariables,
  terminalText,
  usageError,
  writeConfig,
} from '../../core/api-cli.ts';
import { openBrowserInstaller } from './installer.ts';
import { browser } from './settings.ts';

const ABOUT =
  'The tool browser uses web pages with scripts, forms and logins. It runs in the sandbox and reaches public sites alone; what pages send, what is typed after something was read, downloads and uploads ask you.';

/** `assistant tools install browser`: exit code 0 when all that it needs is there. */
export async function toolsInstallCommand(
  { what, yes, home }: HomeFlag & { readonly what: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  if (what !== 'browser')
    throw usageError(`There is nothing to install for ${JSON.stringify(what.slice(0, 40))}; only browser.`);
  const paths = pathsOf(context, home);
  const say = (text: string): void => void context.stdout.write(`${terminalText(text)}\n`);
  const installer = openBrowserInstaller(paths, { node: context.host().node, env: programVariables(context) });
  const { program, env } = context;
  const settings = browser.of((await loadConfig({ program, home: paths.home, env })).config);
  say(ABOUT);
  if (!(await confirm(context, `Install ${installer.library} into ${paths.browser} and enable the tool?`, { yes }))) {
    say('Nothing was installed.');
    return 1;
  }
  if (!installer.isInstalled()) {
    using progress = openProgress(context);
    progress.show(`Fetching ${installer.library}`);
    await installer.install();
  }
  if (!settings.enabled) {
    const setting = { path: ['tools', 'browser', 'enabled'], value: true };
    const draft = await draftChange({ program, paths, env }, setting);
    if (draft.text !== draft.before) await writeConfig(paths, draft);
  }
  say(`${installer.library} is installed, and the tool browser is enabled from the next start (/restart).`);
  const found = installer.executable(settings.executable);
  if (typeof found === 'string') {
    say(`It will use ${found}.`);
    return 0;
  }
  say(`${found.reason} To get one: ${found.remedy}`);
  return 1;
}
