import { existsSync } from 'node:fs';
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { AppError, type HomePaths, sentences } from '../../core/api.ts';
import { ensureDirectory, syncDirectory } from '../../core/api-files.ts';
import { npmInstall, type NpmInstall } from '../../core/api-cli.ts';
import { findBrowser, findExecutable, LIBRARY, libraryFolder } from './installed.ts';

/** What the tool `browser` needs beside this program. */
export interface BrowserInstaller {
  /** `name version` of the library that drives browsers. */
  readonly library: string;
  /** Whether that very version lies in the home. */
  readonly isInstalled: () => boolean;
  /** Fetches it with npm into the home. Throws `browser-install` with one sentence; then nothing was changed. */
  readonly install: () => Promise<void>;
  /** Chromium or Chrome of this machine; otherwise why there is none, and what gives one. */
  readonly executable: (configured: string | null) => ReturnType<typeof findExecutable>;
}

const lockSchema = z.object({ packages: z.record(z.string(), z.object({ integrity: z.string().optional() })) });

/** `wanted`: the only package that is taken. @default the pinned one */
export function openBrowserInstaller(
  { browser }: Pick<HomePaths, 'browser'>,
  ports: Pick<NpmInstall, 'node' | 'env' | 'seconds'>,
  wanted: { readonly name: string; readonly version: string; readonly integrity: string } = LIBRARY,
): BrowserInstaller {
  const library = `${wanted.name} ${wanted.version}`;
  return {
    library,
    isInstalled: () => {
      const looked = findBrowser(libraryFolder(browser), null, '');
      return looked.found !== null || looked.lacks === 'executable';
    },
    executable: findExecutable,
    install: async () => {
      const staging = join(browser, 'program.new');
      await rm(staging, { recursive: true, force: true });
      await ensureDirectory(staging);
      try {
        const why = await npmInstall(`${wanted.name}@${wanted.version}`, {
          into: staging,
          flags: ['--omit=dev', '--omit=optional', '--save-exact'],
          ...ports,
        });
        if (why !== null) throw failure(`npm could not install ${library}`, why);
        const integrity = await integrityOf(staging, wanted.name);
        if (integrity !== wanted.integrity) {
          throw failure(`${library} as the registry has it is not the package that this program was made for`, '');
        }
        await putInPlace(browser, staging);
      } finally {
        await rm(staging, { recursive: true, force: true });
      }
    },
  };
}

async function putInPlace(browser: string, staging: string): Promise<void> {
  const place = join(browser, 'program');
  const aside = join(browser, 'program.old');
  await rm(aside, { recursive: true, force: true });
  if (existsSync(place)) await rename(place, aside);
  await rename(staging, place);
  await syncDirectory(browser);
  await rm(aside, { recursive: true, force: true });
}

/** The hash that npm compared the package with; undefined: it noted none. */
async function integrityOf(folder: string, name: string): Promise<string | undefined> {
  const text = await readFile(join(folder, 'node_modules', '.package-lock.json'), 'utf8').catch(
    () => '{"packages":{}}',
  );
  return lockSchema.parse(JSON.parse(text)).packages[`node_modules/${name}`]?.integrity;
}

function failure(what: string, why: string): AppError {
  return new AppError('browser-install', sentences(what, why, 'Nothing was changed'));
}
