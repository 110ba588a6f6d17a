import { realpath } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runEnclosed, type EnclosedProcess, type Sandbox } from '../../core/api-sandbox.ts';
import { AppError, type Clock, sentences } from '../../core/api.ts';
import type { ChildOptions } from './protocol.ts';

/** Where the parts of a browser are. */
export interface BrowserProgram {
  /** The folder of playwright-core. */
  readonly library: string;
  /** Chromium or Chrome. */
  readonly executable: string;
}

const SYSTEM = /^\/(?:usr|bin|lib|lib64|nix\/store)\//u;
/** Of Node alone; the browser has processes of its own. */
const NODE_FLAGS = ['--max-old-space-size=256', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'];

/**
 * Starts the child of a browser in the sandbox: without a network, without a home, with a folder of its own as the only place
 * that lasts. Throws `browser-sandbox` where there is no sandbox: then there is no browser either.
 */
export async function startChild(
  { library, executable }: BrowserProgram,
  {
    sandbox,
    folder,
    options,
    clock,
  }: {
    readonly sandbox: Pick<Sandbox, 'probe'>;
    /** Absolute and real; it holds the profile. */
    readonly folder: string;
    readonly options: Pick<ChildOptions, 'profile' | 'socket' | 'keyHash'>;
    readonly clock: Clock;
  },
): Promise<EnclosedProcess> {
  const found = await sandbox.probe();
  if (!found.available) {
    const remedy = found.remedy === undefined ? '' : `To change that: ${found.remedy}`;
    throw new AppError(
      'browser-sandbox',
      sentences('There is no sandbox, so there is no browser', found.reason, remedy),
    );
  }
  const child = childFile();
  const node = await realpath(process.execPath);
  const program = await realpath(executable);
  const package_ = await realpath(library);
  const programs = [dirname(child), node, package_, ...(SYSTEM.test(program) ? [] : [dirname(program)])];
  const given: ChildOptions = { ...options, library: `${package_}/index.mjs`, executable: program };
  return runEnclosed(
    {
      command: [node, ...NODE_FLAGS, child, JSON.stringify(given)],
      cwd: folder,
      environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, LANG: 'C.UTF-8' },
    },
    {
      engine: found.engine,
      mounts: [
        ...[...programs, dirname(options.socket)].map((path) => ({ path, as: 'read' as const })),
        { path: folder, as: 'write' },
      ],
      network: false,
      input: true,
      clock,
    },
  );
}

/** The program of the child: in the published package the bundle of that name. */
function childFile(): string {
  const source = fileURLToPath(new URL('./browser-child.ts', import.meta.url));
  return existsSync(source) ? source : source.replace(/\.ts$/u, '.js');
}
