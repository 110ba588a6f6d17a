import { createHash } from 'node:crypto';

/** What model APIs take as the name of a tool. */
const LONGEST = 64;
const HASH_DIGITS = 8;

/**
 * The name under which a model sees a server's tool: `mcp_<server>_<tool>`, of letters, digits, `_` and `-`, at most 64
 * characters. One that had to be cut, or that is taken, ends with a hash of the two true names.
 */
export function toolName(server: string, tool: string, isTaken: (name: string) => boolean = () => false): string {
  const plain = `mcp_${server}_${tool}`.replace(/[^\w-]/gu, '_');
  if (plain.length <= LONGEST && !isTaken(plain)) return plain;
  const hash = createHash('sha256')
    .update(JSON.stringify([server, tool]))
    .digest('hex')
    .slice(0, HASH_DIGITS);
  return `${plain.slice(0, LONGEST - HASH_DIGITS - 1)}_${hash}`;
}
