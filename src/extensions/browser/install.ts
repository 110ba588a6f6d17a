import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type CliContext,
  confirm,
  draftChange,
  type HomeFlag,
  loadConfig,
  npmInstall,
  type NpmInstall,
  openProgress,
  pathsOf,
  programVariables,
  terminalText,
  usageError,
  writeConfig,
} from '../../core/api-cli.ts';
import { ensureDirectory, syncDirectory } from '../../core/api-files.ts';
import { AppError, sentences, z } from '../../core/api.ts';
import { findExecutable, LIBRARY, libraryFolder, libraryTrouble } from './program.ts';
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
  const library = `${LIBRARY.name} ${LIBRARY.version}`;
  const { program, env } = context;
  const settings = browser.of((await loadConfig({ program, home: paths.home, env })).config);
  say(ABOUT);
  if (!(await confirm(context, `Install ${library} into ${paths.browser} and enable the tool?`, { yes }))) {
    say('Nothing was installed.');
    return 1;
  }
  if (libraryTrouble(libraryFolder(paths.browser)) !== null) {
    using progress = openProgress(context);
    progress.show(`Fetching ${library}`);
    await installLibrary(paths.browser, { node: context.host().node, env: programVariables(context) });
  }
  if (!settings.enabled) {
    const setting = { path: ['tools', 'browser', 'enabled'], value: true };
    const draft = await draftChange({ program, paths, env }, setting);
    if (draft.text !== draft.before) await writeConfig(paths, draft);
  }
  say(`${library} is installed, and the tool browser is enabled from the next start (/restart).`);
  const found = findExecutable(settings.executable);
  say(typeof found === 'string' ? `It will use ${found}.` : `${found.reason} To get one: ${found.remedy}`);
  return typeof found === 'string' ? 0 : 1;
}

const lockSchema = z.object({ packages: z.record(z.string(), z.object({ integrity: z.string().optional() })) });

/**
 * Fetches the library with npm into the folder of browsers. Throws `browser-install` with one sentence; then nothing was
 * changed. `integrity`: of the only package that is taken. @default the pinned one
 */
export async function installLibrary(
  folder: string,
  ports: Pick<NpmInstall, 'node' | 'env'>,
  integrity: string = LIBRARY.integrity,
): Promise<void> {
  const { name, version } = LIBRARY;
  const staging = join(folder, 'program.new');
  await rm(staging, { recursive: true, force: true });
  await ensureDirectory(staging);
  try {
    const flags = ['--omit=dev', '--omit=optional', '--save-exact'];
    const why = await npmInstall(`${name}@${version}`, { into: staging, flags, ...ports });
    if (why !== null) throw failure(`npm could not install ${name} ${version}`, why);
    // The hash that npm compared the package with.
    const lock = await readFile(join(staging, 'node_modules', '.package-lock.json'), 'utf8').catch(
      () => '{"packages":{}}',
    );
    if (lockSchema.parse(JSON.parse(lock)).packages[`node_modules/${name}`]?.integrity !== integrity)
      throw failure(`${name} ${version} as the registry has it is not the package that this program was made for`, '');
    const place = join(folder, 'program');
    await rm(place, { recursive: true, force: true });
    await rename(staging, place);
    await syncDirectory(folder);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function failure(what: string, why: string): AppError {
  return new AppError('browser-install', sentences(what, why, 'Nothing was changed'));
}
