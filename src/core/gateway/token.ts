import { AppError, errorMessage } from '../util/errors.ts';
import type { Random } from '../util/random.ts';
import { readIfExists, replaceDurable } from '../storage/files.ts';

/** What this program makes: 32 random bytes. A file that was zeroed or cut must not pass for a token. */
const MADE = /^[\w-]{43}$/u;

/**
 * The gateway's token: the configured one, else the one in the file at `path`, made (mode 0600) when there is none. `remade` is
 * called if the file held something else. Throws `token-unreadable` if it can't be read.
 */
export async function gatewayToken(options: {
  readonly configured: string | null;
  readonly path: string;
  readonly random: Random;
  readonly remade?: (sentence: string) => void;
}): Promise<string> {
  const { configured, path, random, remade } = options;
  if (configured !== null) return configured;
  const kept = await readIfExists(path).catch((error: unknown) => {
    throw new AppError(
      'token-unreadable',
      `${path} can’t be read: ${errorMessage(error)}. Move it away, and start again.`,
    );
  });
  if (kept !== undefined && MADE.test(kept.trim())) return kept.trim();
  const made = Buffer.from(random.bytes(32)).toString('base64url');
  await replaceDurable(path, `${made}\n`);
  if (kept !== undefined)
    remade?.(
      `${path} was damaged, so I made a new token. Programs need the new one, and browsers have to log in again.`,
    );
  return made;
}

/** Throws `config-invalid` for an address that others can reach without a token that the owner chose. */
export function requireTokenBeyondLoopback(host: string, configured: string | null): void {
  if (configured !== null || isLoopback(host)) return;
  throw new AppError(
    'config-invalid',
    `gateway.host is ${host}, which other machines can reach, but gateway.token is not set. Set a token, or leave the host at 127.0.0.1.`,
    { exitCode: 78, facts: { host } },
  );
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host);
}
