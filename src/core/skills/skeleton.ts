import { assistantCommand } from '../util/assistant-command.ts';
import { CASES_FILE } from './skill.ts';

/** The files of a new skill: a SKILL.md to fill in, and a first case. */
export function skeletonOf(
  name: string,
  description: string,
): readonly { readonly path: string; readonly bytes: Uint8Array; readonly executable: false }[] {
  const text = `---
name: ${name}
description: ${JSON.stringify(description)}
---

# ${name}

1. What to do first: the command, the address or the file, so that it works here.
2. What a good result looks like, and what to do when it fails.
3. What needs a yes before it is done (sending, buying, deleting).
`;
  const cases = `# How this skill is tested: ${assistantCommand(`skills test ${name}`)}
- name: it is used where it fits
  prompt: ${JSON.stringify(`Please help me with this: ${description}`)}
  activates: true
- name: it is not used elsewhere
  prompt: "What is 17 times 3?"
  activates: false
  contains: "51"
`;
  const file = (path: string, content: string) => ({ path, bytes: Buffer.from(content), executable: false }) as const;
  return [file('SKILL.md', text), file(CASES_FILE, cases)];
}
