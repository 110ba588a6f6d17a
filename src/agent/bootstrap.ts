import { arch, release, type } from 'node:os';
import { join } from 'node:path';
import { readIfExists } from '../storage/files.ts';
import { BOOTSTRAP_FILES, buildSystemPrompt } from './prompt.ts';

/** Reads the workspace's files and renders the system prompt of this turn; a file that is missing is left out. */
export async function readSystemPrompt(workspace: string): Promise<readonly string[]> {
  const files = await Promise.all(
    BOOTSTRAP_FILES.map(async (name) => ({ name, text: (await readIfExists(join(workspace, name))) ?? '' })),
  );
  const facts = { os: `${type()} ${release()} (${arch()})`, runtime: `Node ${process.versions.node}`, workspace };
  return buildSystemPrompt(facts, files);
}
