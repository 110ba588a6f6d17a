import { readFile } from 'node:fs/promises';
import { documentReader } from '../../src/extensions/files/documents/document-reader.ts';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import { pageText } from '../../src/extensions/web/web-fetch.ts';
import { readFileTool } from '../../src/extensions/files/read-file.ts';
import { PathGuard } from '../../src/core/security/paths/open-inside.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { errorMessage } from '../../src/core/util/errors.ts';
import { testToolContext } from './tool-context.ts';
import { PATHS } from './extensions.ts';

/**
 * A process that reads documents as the daemon does, so that its memory can be measured: the folder of the files is its
 * argument, and each message names one.
 */
const [workspace = ''] = process.argv.slice(2);

export interface HostTask {
  readonly path: string;
  readonly fetched: 'html' | 'text' | 'pdf' | null;
  readonly role: 'owner' | 'guest';
}

const readApart = createReader({ clock: systemClock });
const guard = new PathGuard({
  paths: PATHS,
  workspace,
  home: `${workspace}/home`,
  readRoots: [],
  restrictToWorkspace: true,
});
const registry = new ToolRegistry({
  policy: { allow: ['*'], deny: [], guest: ['read_file'] },
  clock: systemClock,
  redact: (text) => text,
  maxOutput: 16_000,
});
registry.register(readFileTool({ guard, pageChars: 15_600, readDocument: documentReader(readApart) }));

async function read({ path, fetched, role }: HostTask): Promise<string> {
  const { signal } = new AbortController();
  if (fetched === null) {
    const context = testToolContext({ role, signal, workingDirectory: workspace });
    return (await registry.run({ name: 'read_file', arguments: JSON.stringify({ path }) }, context)).output;
  }
  try {
    const bytes = await readFile(path);
    const task = { kind: fetched, charset: 'utf-8', url: 'https://site.example/' } as const;
    return (await pageText({ bytes, task }, readApart, { role, signal })).text;
  } catch (error) {
    return errorMessage(error);
  }
}

process.on('message', (task: HostTask) => {
  void read(task).then((text) => process.send?.({ length: text.length, text: text.slice(0, 300) }));
});
process.send?.({ length: 0, text: 'ready' });
