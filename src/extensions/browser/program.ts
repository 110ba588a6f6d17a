import { accessSync, constants, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { packageRemedy } from '../../core/api-sandbox.ts';
import { assistantCommand, type HomePaths, z } from '../../core/api.ts';

/** Where the parts of a browser are. */
export interface BrowserProgram {
  /** The folder of playwright-core. */
  readonly library: string;
  /** Chromium or Chrome. */
  readonly executable: string;
}

/** Something is not there. */
export interface Lacking {
  /** One sentence. */
  readonly reason: string;
  /** What gives it, as a command where there is one; without a full stop. */
  readonly remedy: string;
}

/** The one version of the library that drives browsers, as its registry names it. */
export const LIBRARY = {
  name: 'playwright-core',
  version: '1.65.1',
  integrity: 'sha512-hqPpz7blSMPxWVdoeE1yiBSzXsKiVOd2k+kjCvmUywD2GPO2Dd9HfcWnq9NN0GHbNZDFgZ9JfBFr+X5/BLo0qw==',
} as const;

/** The programs themselves where a package has a script in front of them, the smallest first. */
const PLACES = [
  '/usr/lib/chromium/chromium-headless-shell',
  '/usr/lib/chromium/chromium',
  '/usr/lib64/chromium-browser/chromium-browser',
  '/usr/lib/chromium-browser/chromium-browser',
  '/opt/google/chrome/chrome',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
  '/run/current-system/sw/bin/chromium',
];

/** The folder into which the library is installed, below the folder of browsers. */
export function libraryFolder(browserFolder: string): string {
  return join(browserFolder, 'program', 'node_modules', LIBRARY.name);
}

/** What the tool would use in this home; otherwise the first thing that it lacks. */
export function findBrowser(
  { executable }: { readonly executable: string | null },
  { browser }: Pick<HomePaths, 'browser'>,
): BrowserProgram | Lacking {
  const library = libraryFolder(browser);
  const reason = libraryTrouble(library);
  if (reason !== null) return { reason, remedy: assistantCommand('tools install browser') };
  const program = findExecutable(executable);
  return typeof program === 'string' ? { library, executable: program } : program;
}

/** Chromium or Chrome of this machine; null: the first of the usual places. */
export function findExecutable(executable: string | null): string | Lacking {
  const program = executable ?? PLACES.find(isExecutable);
  const remedy = packageRemedy('chromium');
  if (program === undefined) return { reason: 'There is no Chromium or Chrome on this machine.', remedy };
  if (!isExecutable(program))
    return { reason: `tools.browser.executable names ${program}, which is no program.`, remedy };
  if (/\/snap(?:d)?(?:\/|$)/u.test(realpathSync(program)))
    return { reason: `${program} is a snap, which does not run inside of the sandbox.`, remedy };
  return program;
}

const facts = z.object({ version: z.string() });

/** Why the library in this folder is not used, as a sentence; null: it is the right one. */
export function libraryTrouble(folder: string): string | null {
  let version: string;
  try {
    ({ version } = facts.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))));
  } catch {
    return `${LIBRARY.name} is not installed.`;
  }
  if (version === LIBRARY.version) return null;
  return `${LIBRARY.name} ${version} is installed, but ${LIBRARY.version} is needed.`;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
