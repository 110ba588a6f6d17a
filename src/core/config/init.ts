import { lstat, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import * as z from 'zod';
import { ensureDirectory, readIfExists, replaceDurable } from '../storage/files.ts';
import { AppError, errorCode } from '../util/errors.ts';
import { ensureHome, type HomePaths } from './home.ts';
import { packageFile } from './version.ts';
import type { Program } from '../program.ts';

export interface InitReport {
  /** Relative to the home. */
  readonly created: readonly string[];
  /** Were there before and are as they were. Relative to the home. */
  readonly kept: readonly string[];
}

const SCHEMA_FILE = 'config.schema.json';

/** What `config.json` holds in a new home. */
export const NEW_CONFIG = `{
  // Settings of your assistant. Every key has a default; docs/configuration.md lists them all.
  // Texts may name variables: "\${NAME}". Secrets may lie in files: {"file": "/run/secrets/name"}.
  "$schema": "./${SCHEMA_FILE}",

  "agent": {
    // "auto": the first provider that has a key. Or, say, "anthropic/claude-sonnet-5-5".
    "model": "auto"
  },

  "providers": {
    "anthropic": { "apiKey": "\${ANTHROPIC_API_KEY}" },
    "openai": { "apiKey": "\${OPENAI_API_KEY}" }
    // Any server that speaks one of their languages:
    // "local": { "kind": "openai", "baseUrl": "http://127.0.0.1:11434/v1" }
  },

  "channels": {
    // Telegram: get a token from @BotFather; allowFrom holds the numeric ids of those who may write.
    // "telegram": { "token": "\${TELEGRAM_BOT_TOKEN}", "allowFrom": ["123456789"] }
    // Slack: docs/slack.md has the manifest of an app; allowFrom holds member ids.
    // "slack": { "botToken": "\${SLACK_BOT_TOKEN}", "appToken": "\${SLACK_APP_TOKEN}", "allowFrom": ["U0123456789"] }
  },

  "tools": {
    // Commands: "off", "ask", "auto" (in the sandbox without asking) or "full".
    "exec": { "mode": "auto" }
  }
}
`;

/** What `config.json` holds in the new home of a further assistant. */
const FURTHER_CONFIG = `{
  // Settings of this assistant alone. Its entry under "agents" in the configuration of the main assistant wins over them.
  // Channels and keys of model providers come from there too; what stands in "providers" here is used in their place.
  "$schema": "./${SCHEMA_FILE}"
}
`;

/**
 * Makes a home ready for use: `config.json` and what is missing of the workspace. Never overwrites what a person may
 * have changed; the schema for editors is brought up to date.
 */
export async function initHome(
  paths: HomePaths,
  program: Program,
  {
    config = paths.host === null ? NEW_CONFIG : FURTHER_CONFIG,
  }: { /** Of a `config.json` that is not there yet. */ readonly config?: string } = {},
): Promise<InitReport> {
  await ensureHome(paths);
  const created: string[] = [];
  const kept: string[] = [];
  const put = async (path: string, content: () => Promise<string | Uint8Array>): Promise<void> => {
    const name = relative(paths.home, path);
    if (await exists(path)) {
      kept.push(name);
      return;
    }
    await replaceDurable(path, await content());
    created.push(name);
  };
  await put(paths.config, async () => config);
  await writeSchema(program, join(paths.home, SCHEMA_FILE));
  const template = templateFolder();
  for (const { path, isFolder } of await templateEntries(template)) {
    const target = join(paths.workspace, path);
    if (isFolder) await ensureDirectory(target);
    else await put(target, () => readFile(join(template, path)));
  }
  return { created, kept };
}

/** The JSON schema of `config.json`, for editors. */
export function configJsonSchema({ schema }: Program): unknown {
  return z.toJSONSchema(schema, { io: 'input', target: 'draft-7' });
}

/** What the workspace of a new home has and this one lacks, relative to the workspace. */
export async function missingInWorkspace({ workspace }: Pick<HomePaths, 'workspace'>): Promise<readonly string[]> {
  const entries = await templateEntries(templateFolder());
  const isThere = await Promise.all(entries.map(({ path }) => exists(join(workspace, path))));
  return entries.filter((_, at) => isThere[at] === false).map(({ path }) => path);
}

async function writeSchema(program: Program, path: string): Promise<void> {
  const text = `${JSON.stringify(configJsonSchema(program), null, 2)}\n`;
  if ((await readIfExists(path)) !== text) await replaceDurable(path, text);
}

function templateFolder(): string {
  const folder = packageFile('workspace-template');
  if (folder !== undefined) return folder;
  throw new AppError(
    'package-incomplete',
    'The folder workspace-template is missing from this installation. Install the package again.',
  );
}

/** Folders before what is in them; names that begin with a dot only hold a folder's place. */
async function templateEntries(folder: string, prefix = ''): Promise<readonly { path: string; isFolder: boolean }[]> {
  const entries = await readdir(join(folder, prefix), { withFileTypes: true });
  const shown = entries.filter((entry) => !entry.name.startsWith('.')).sort((a, b) => (a.name < b.name ? -1 : 1));
  const nested = await Promise.all(
    shown.map(async (entry) => {
      const path = join(prefix, entry.name);
      if (!entry.isDirectory()) return [{ path, isFolder: false }];
      return [{ path, isFolder: true }, ...(await templateEntries(folder, path))];
    }),
  );
  return nested.flat();
}

async function exists(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false;
    throw error;
  }
}
