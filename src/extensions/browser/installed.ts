import { accessSync, constants, existsSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import type { BrowserProgram } from './enclosure.ts';

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

/** How packages are installed here: the program that does it, and what is typed. */
const INSTALLERS = [
  ['/usr/bin/apt', 'apt install chromium'],
  ['/usr/bin/dnf', 'dnf install chromium'],
  ['/usr/bin/pacman', 'pacman -S chromium'],
  ['/sbin/apk', 'apk add chromium'],
  ['/usr/bin/zypper', 'zypper install chromium'],
] as const;

export type FoundBrowser =
  | { readonly found: BrowserProgram }
  | {
      readonly found: null;
      readonly lacks: 'library' | 'executable';
      /** One sentence. */
      readonly reason: string;
      /** What gives it, as a command where there is one; without a full stop. */
      readonly remedy: string;
    };

/** The folder into which the library is installed, below the folder of browsers. */
export function libraryFolder(browserFolder: string): string {
  return join(browserFolder, 'program', 'node_modules', LIBRARY.name);
}

/** Looks for what the tool needs. `executable`: the configured program; null: the first of the usual places. */
export function findBrowser(library: string, executable: string | null, install: string): FoundBrowser {
  const version = versionOf(library);
  if (version !== LIBRARY.version) {
    const reason =
      version === null
        ? `${LIBRARY.name} is not installed.`
        : `${LIBRARY.name} ${version} is installed, but ${LIBRARY.version} is needed.`;
    return { found: null, lacks: 'library', reason, remedy: install };
  }
  const program = findExecutable(executable);
  if (typeof program === 'string') return { found: { library, executable: program } };
  return { found: null, lacks: 'executable', ...program };
}

/** Chromium or Chrome of this machine; otherwise why there is none, and what gives one. */
export function findExecutable(
  executable: string | null,
): string | { readonly reason: string; readonly remedy: string } {
  const program = executable ?? PLACES.find(isExecutable);
  const remedy = INSTALLERS.find(([path]) => existsSync(path))?.[1] ?? 'install Chromium or Chrome';
  if (program === undefined) return { reason: 'There is no Chromium or Chrome on this machine.', remedy };
  if (!isExecutable(program))
    return { reason: `tools.browser.executable names ${program}, which is no program.`, remedy };
  if (/\/snap(?:d)?(?:\/|$)/u.test(realpathSync(program)))
    return { reason: `${program} is a snap, which does not run inside of the sandbox.`, remedy };
  return program;
}

const facts = z.object({ version: z.string() });

function versionOf(folder: string): string | null {
  try {
    return facts.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).version;
  } catch {
    return null;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
