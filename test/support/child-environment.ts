import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * The environment of a process that a test starts: nothing of this one's but where programs are. What Node compiles is
 * kept from one start to the next, as the launcher has it; a process that is killed keeps nothing, unless it calls
 * `flushCompileCache`.
 */
export function childEnvironment(extra: Readonly<Record<string, string>> = {}): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    NODE_COMPILE_CACHE: join(tmpdir(), 'assistant-test-compiled'),
    ...extra,
  };
}
