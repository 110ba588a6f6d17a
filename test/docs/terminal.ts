import { execFile } from 'node:child_process';
import { cp, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
import { waitFor } from '../support/wait.ts';

const run = promisify(execFile);

/** A shell in a terminal of 110 by 100 characters, as a person sees it. Disposing ends it with all that it started. */
export interface Terminal extends AsyncDisposable {
  /** Types a line and Enter. */
  type(line: string): Promise<void>;
  /** What is on the screen, without spaces at the ends of lines. */
  screen(): Promise<string>;
}

/** Opens a terminal in a folder, with this environment and no other. */
export async function openTerminal(folder: string, env: Readonly<Record<string, string>>): Promise<Terminal> {
  const name = `assistant-docs-${process.pid}`;
  const tmux = async (...args: readonly string[]): Promise<string> =>
    (await run('tmux', ['-L', name, '-f', '/dev/null', ...args])).stdout;
  const settings = Object.entries(env).map(([key, value]) => `${key}=${value}`);
  const shell = ['env', '-i', 'TERM=screen', 'PS1=$ ', ...settings, 'bash', '--norc', '--noprofile'];
  await tmux('new-session', '-d', '-x', '110', '-y', '100', '-c', folder, ...shell);
  // What is typed before the shell reads is shown twice.
  const screen = (): Promise<string> => tmux('capture-pane', '-p');
  await waitFor(async () => (await screen()).startsWith('$'), { what: 'the shell', timeoutMs: 40_000 });
  return {
    type: async (line) => {
      await tmux('send-keys', '-l', line);
      await tmux('send-keys', 'Enter');
    },
    screen,
    [Symbol.asyncDispose]: async () => void (await tmux('kill-server')),
  };
}

/** Makes a folder with what a clone has, and with the packages that are installed here; returns its path. */
export async function cloneInto(folder: string): Promise<string> {
  for (const name of ['src', 'skills', 'workspace-template', 'package.json']) {
    await cp(join(ROOT, name), join(folder, name), { recursive: true });
  }
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}
