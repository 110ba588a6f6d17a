import { dirname } from 'node:path';
import * as z from 'zod';
import { AppError } from '../core/util/errors.ts';
import { oneLine } from '../core/util/text.ts';
import { runProgram, type ProgramResult, type Variables } from './program.ts';

/** npm gets this long, and a registry this long for each answer. */
const NPM_SECONDS = 600;
const ANSWER_MS = 60_000;

/** npm asks again once and soon; by its own defaults it waits for minutes before it says that no one answers. */
const PATIENCE = {
  npm_config_fetch_retries: '1',
  npm_config_fetch_retry_mintimeout: '1000',
  npm_config_fetch_retry_maxtimeout: '5000',
  npm_config_fetch_timeout: String(ANSWER_MS),
} as const;

/** What npm says of a failure with `--json`. */
const failure = z.object({ error: z.object({ code: z.string().default(''), summary: z.string().default('') }) });

export interface NpmInstall {
  /** Folder that it installs into, as `--prefix`. */
  readonly into: string;
  /** Further flags. */
  readonly flags: readonly string[];
  /** The Node that npm runs with. */
  readonly node: string;
  /** Its own `npm_config_…` count before the patience that it has here. */
  readonly env: Variables;
  /** Seconds until npm is ended. @default 600 */
  readonly seconds?: number;
}

/**
 * Has npm install one package: a name, a tarball or a folder. No script of a package runs. Null: it is installed. Otherwise
 * one sentence that says why not. Throws `program-missing` where there is no npm.
 */
export async function npmInstall(
  spec: string,
  { into, flags, node, env, seconds = NPM_SECONDS }: NpmInstall,
): Promise<string | null> {
  const args = [
    'install',
    '--prefix',
    into,
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--json',
    ...flags,
    '--',
    spec,
  ];
  const PATH = `${dirname(node)}:${env['PATH'] ?? ''}`;
  const ended = await runProgram('npm', args, { env: { ...PATIENCE, ...env, PATH }, seconds }).catch(
    (error: unknown) => {
      if (error instanceof AppError && error.code === 'program-timeout') return null;
      throw error;
    },
  );
  if (ended === null) return `It was not there after ${seconds} seconds. Try again when the connection is better.`;
  return ended.code === 0 ? null : whyNot(ended);
}

/** Codes of Node and npm for a server that is not reached or says nothing. */
const UNREACHED =
  /^(?:E(?:CONN\w+|NOTFOUND|AI_AGAIN|HOSTUNREACH|NETUNREACH|TIMEDOUT|RR_SOCKET_TIMEOUT)|ERR_SOCKET_TIMEOUT|FETCH_ERROR)$/u;

function whyNot({ out, said }: ProgramResult): string {
  const { code, summary } = failureIn(out) ?? { code: '', summary: said };
  const [server = 'The registry'] = /https?:\/\/[^/\s]+/u.exec(summary) ?? [];
  if (UNREACHED.test(code) || /network timeout/u.test(summary)) {
    return `${server} does not answer (${code === '' ? 'timeout' : code}). Check the connection, then try again.`;
  }
  if (code === 'EINTEGRITY') {
    return 'The package that was sent is not the one whose hash the registry names, so it was thrown away.';
  }
  if (code === 'E404') return `${server} has no such package.`;
  const words = (summary === '' ? said : summary).replace(/^npm (?:error|ERR!)\s*/u, '');
  return oneLine(words === '' ? 'It gave no reason.' : words, 300);
}

function failureIn(out: string): { readonly code: string; readonly summary: string } | undefined {
  try {
    return failure.parse(JSON.parse(out)).error;
  } catch {
    return undefined;
  }
}
