import { AppError } from '../util/errors.ts';
import type { Random } from '../util/random.ts';
import { readIfExists, replaceDurable } from '../storage/files.ts';

/** The gateway's token: the configured one, else the one in the file at `path`, made (mode 0600) when there is none. */
export async function gatewayToken(options: {
  readonly configured: string | null;
  readonly path: string;
  readonly random: Random;
}): Promise<string> {
  if (options.configured !== null) return options.configured;
  const kept = (await readIfExists(options.path))?.trim() ?? '';
  if (kept !== '') return kept;
  const made = Buffer.from(options.random.bytes(32)).toString('base64url');
  await replaceDurable(options.path, `${made}\n`);
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
