import { openBrowserInstaller } from '../../app/extensions/browser-installer.ts';
import { draftChange, writeConfig } from '../../config/change.ts';
import { loadConfig } from '../../config/load.ts';
import { confirm } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { terminalText } from '../format.ts';
import { pathsOf } from '../open.ts';
import { openProgress } from '../progress.ts';
import { programVariables } from '../program-variables.ts';
import type { HomeFlag } from '../table/command.ts';
import { usageError } from '../usage.ts';

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
  const { config } = await loadConfig({ home: paths.home, env: context.env });
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
  if (!config.tools.browser.enabled) {
    const setting = { path: ['tools', 'browser', 'enabled'], value: true };
    const draft = await draftChange({ paths, env: context.env }, setting);
    if (draft.text !== draft.before) await writeConfig(paths, draft);
  }
  say(`${installer.library} is installed, and the tool browser is enabled from the next start (/restart).`);
  const program = installer.executable(config.tools.browser.executable);
  if (typeof program === 'string') {
    say(`It will use ${program}.`);
    return 0;
  }
  say(`${program.reason} To get one: ${program.remedy}`);
  return 1;
}
