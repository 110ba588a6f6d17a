import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, lstat, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ensureDirectory } from '../storage/files.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { hostedHome, machineOf } from './hosted-home.ts';
import type { Environment } from './environment.ts';

/** What lies where in a home. Absolute paths. */
export interface HomePaths {
  readonly home: string;
  /** The home of the main assistant, or the folder of the machine, that this one lies in, closed to this one; null: it lies in none. */
  readonly host: string | null;
  readonly config: string;
  readonly workspace: string;
  readonly sessions: string;
  /** The journal. */
  readonly state: string;
  /** The full-text index. */
  readonly search: string;
  readonly lock: string;
  /** The control socket; not in the home when the path would be too long for a socket. */
  readonly socket: string;
  /** The gateway's token. */
  readonly token: string;
  readonly audit: string;
  readonly media: string;
  readonly spill: string;
  /** What models were sent beside the conversation, by hash. */
  readonly prompts: string;
  readonly versions: string;
  readonly quarantine: string;
  /** Written and removed again to see whether the disk takes writes. */
  readonly probe: string;
  /** The starts since the last orderly stop. */
  readonly starts: string;
  readonly backups: string;
  readonly logs: string;
  /** The log of an assistant whose terminal is in use; older ones are `.1` to `.4`. */
  readonly log: string;
  /** What was entered in terminals. */
  readonly terminalHistory: string;
  readonly plugins: string;
  /** Which skills of other programs a person agreed to. */
  readonly skillPins: string;
  readonly pluginPins: string;
  /** Which tools of MCP servers a person agreed to. */
  readonly mcpPins: string;
  /** Conversations of code editors, and the folders that they may use. */
  readonly editors: string;
  /** What the sandbox needs of files. */
  readonly sandbox: string;
  /** What drives browsers, once it is installed, and their profiles. */
  readonly browser: string;
}

/** Bytes; kernels take 104 to 108. */
const LONGEST_SOCKET_PATH = 100;

export function homePaths(home: string, env: Environment = {}): HomePaths {
  const at = (name: string): string => join(home, name);
  return {
    home,
    host: hostedHome(home)?.host ?? machineOf(home),
    config: at('config.json'),
    workspace: at('workspace'),
    sessions: at('sessions'),
    state: at('state.db'),
    search: at('search.db'),
    lock: at('lock'),
    socket: socketPath(home, env),
    token: at('gateway.token'),
    audit: at('audit.jsonl'),
    media: at('media'),
    spill: at('spill'),
    prompts: at('prompts'),
    versions: at('versions'),
    quarantine: at('quarantine'),
    probe: at('.probe'),
    starts: at('.starts'),
    backups: at('backups'),
    logs: at('logs'),
    log: at('logs/assistant.log'),
    terminalHistory: at('terminal-history.jsonl'),
    plugins: at('plugins'),
    skillPins: at('skill-pins.json'),
    pluginPins: at('plugin-pins.json'),
    mcpPins: at('mcp-pins.json'),
    editors: at('editors.json'),
    sandbox: at('sandbox'),
    browser: at('browser'),
  };
}

/**
 * Makes the home and the folders that everything needs (workspace, sessions, the socket's), mode 0700; the others are
 * made when something is put there. Throws `home-unusable` when the assistant could not live there.
 */
export async function ensureHome(paths: HomePaths): Promise<void> {
  for (const folder of [paths.home, paths.workspace, paths.sessions]) await ensureFolder(folder);
  const runtime = dirname(paths.socket);
  if (runtime === paths.home) return;
  await ensureFolder(runtime);
  for (const folder of [dirname(runtime), runtime]) await requireOwn(folder);
}

function socketPath(home: string, env: Environment): string {
  const path = join(home, 'control.sock');
  if (Buffer.byteLength(path) <= LONGEST_SOCKET_PATH) return path;
  const runtime = env['XDG_RUNTIME_DIR'];
  const base = runtime === undefined ? `/tmp/assistant-${process.getuid?.() ?? 0}` : join(runtime, 'assistant');
  return join(base, createHash('sha256').update(home).digest('hex').slice(0, 16), 'control.sock');
}

async function ensureFolder(folder: string): Promise<void> {
  try {
    await ensureDirectory(folder);
    if (!(await stat(folder)).isDirectory()) throw unusable(folder, 'it is not a folder');
    await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw unusable(folder, reason(error), error);
  }
}

/** No one else may have put the folder there: others could answer in the assistant's name. */
async function requireOwn(folder: string): Promise<void> {
  const facts = await lstat(folder);
  const isOwn = facts.isDirectory() && facts.uid === (process.getuid?.() ?? facts.uid) && (facts.mode & 0o077) === 0;
  if (!isOwn) throw unusable(folder, 'it does not belong to you alone');
}

function reason(error: unknown): string {
  switch (errorCode(error)) {
    case 'EEXIST':
    case 'ENOTDIR':
      return 'a file is in the way';
    case 'EACCES':
    case 'EPERM':
      return 'you may not read and write there';
    case 'EROFS':
      return 'the disk is read-only';
    case 'ENOSPC':
      return 'the disk is full';
    default:
      return errorMessage(error);
  }
}

function unusable(folder: string, why: string, cause?: unknown): AppError {
  return new AppError(
    'home-unusable',
    `The assistant cannot live in ${folder}: ${why}. Correct that, or choose another folder with --home.`,
    { facts: { folder }, ...(cause === undefined ? {} : { cause }) },
  );
}
