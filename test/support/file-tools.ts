import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PathGuard, type Inside, type PathGuardOptions } from '../../src/core/security/paths/open-inside.ts';
import { ChangeLog } from '../../src/core/storage/change-log.ts';
import type { FileAccess } from '../../src/core/files/access.ts';
import { MediaStore } from '../../src/core/storage/media.ts';
import { documentReader } from '../../src/extensions/files/documents/document-reader.ts';
import { applyPatchTool, editFileTool } from '../../src/extensions/files/edit.ts';
import { createFindFiles, type FindFiles } from '../../src/extensions/files/search/find.ts';
import { globTool, grepTool, type SearchOptions } from '../../src/extensions/files/search/search.ts';
import { searchFiles } from '../../src/extensions/files/search/search-files.ts';
import { listDirTool } from '../../src/extensions/files/list-dir.ts';
import { readFileTool, type ReadFileOptions } from '../../src/extensions/files/read-file.ts';
import { createReader } from '../../src/core/tools/reading/reader.ts';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import type { ApprovalRequest, Tool, ToolResult } from '../../src/core/tools/tool.ts';
import { writeFileTool } from '../../src/extensions/files/write-file.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { testToolContext, type TestCall } from './tool-context.ts';
import { VirtualClock } from './virtual-clock.ts';
import { PATHS } from './extensions.ts';

export interface FileTools extends AsyncDisposable {
  /** Real path of a fresh home with a `config.json` in it. */
  readonly home: string;
  readonly workspace: string;
  readonly registry: ToolRegistry;
  readonly guard: PathGuard;
  /** What the tools recorded. */
  readonly changes: ChangeLog;
  readonly clock: VirtualClock;
  /** Every request that a person was asked to allow. */
  readonly asked: ApprovalRequest[];
  /** Calls a tool as the owner, who allows what is asked. */
  call(name: string, args: Record<string, unknown>, overrides?: Partial<TestCall>): Promise<ToolResult>;
  /** Puts a file into the workspace and returns its absolute path. */
  put(path: string, content: string | Uint8Array): Promise<string>;
}

export interface FileToolsOptions {
  readonly pageChars?: number;
  /** Searches run in threads as they do in the program, for at most so long. @default in the thread of the test */
  readonly searchMs?: number;
  readonly paths?: (home: string) => Partial<PathGuardOptions>;
  /** Runs in the middle of a write, after the guard was called and before it looks at the file. */
  readonly beforeWrite?: (path: string) => Promise<unknown>;
}

/** The tools of the extension `files`, over what is given. Searches run in the thread of the test unless `find` is. */
export function fileToolsOn({
  find = findHere,
  pageChars = 15_600,
  readDocument,
  keepImage,
  ...access
}: FileAccess & Partial<SearchOptions> & Pick<ReadFileOptions, 'readDocument' | 'keepImage'>): readonly Tool[] {
  const reading = { ...access, pageChars };
  return [
    readFileTool({ ...reading, readDocument, keepImage }),
    globTool({ ...reading, find }),
    grepTool({ ...reading, find }),
    writeFileTool(access),
    editFileTool(access),
    applyPatchTool(access),
    listDirTool(access.guard, access.marks),
  ];
}

/** The file tools on a real path guard over a temporary home. */
export async function fileTools(options: FileToolsOptions = {}): Promise<FileTools> {
  const home = await realpath(await mkdtemp(join(tmpdir(), 'file-tools-')));
  const workspace = join(home, 'workspace');
  await mkdir(workspace);
  await writeFile(join(home, 'config.json'), '{"secret":true}');
  const guard = new WatchedGuard(
    { paths: PATHS, workspace, home, readRoots: [], restrictToWorkspace: true, ...options.paths?.(home) },
    options.beforeWrite,
  );
  const clock = new VirtualClock();
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
    clock,
    redact: (text) => text,
    maxOutput: 16_000,
  });
  const pageChars = options.pageChars ?? 15_600;
  const readDocument = documentReader(createReader({ clock: systemClock }));
  const media = new MediaStore(join(home, 'media'));
  const { searchMs } = options;
  const changes = new ChangeLog({ folder: join(home, 'versions', 'undo'), clock });
  const tools = fileToolsOn({
    guard,
    changes,
    pageChars,
    readDocument,
    keepImage: (bytes) => media.keep(bytes),
    ...(searchMs === undefined ? {} : { find: createFindFiles({ clock: systemClock, timeoutMs: searchMs }) }),
  });
  for (const tool of tools) registry.register(tool);
  const asked: ApprovalRequest[] = [];
  return {
    home,
    workspace,
    registry,
    guard,
    changes,
    clock,
    asked,
    call: (name, args, overrides = {}) => {
      const context = testToolContext({
        workingDirectory: workspace,
        approve: async (request) => {
          asked.push(request);
          return { approved: true };
        },
        ...overrides,
      });
      return registry.run({ name, arguments: JSON.stringify(args) }, context);
    },
    put: async (path, content) => {
      const absolute = join(workspace, path);
      await mkdir(dirname(absolute), { recursive: true });
      await writeFile(absolute, content);
      return absolute;
    },
    [Symbol.asyncDispose]: () => rm(home, { recursive: true, force: true, maxRetries: 5 }),
  };
}

/** Searches in this thread. */
export const findHere: FindFiles = (task, { progress }) =>
  searchFiles({ ...task, budgetMs: Number.POSITIVE_INFINITY }, progress);

class WatchedGuard extends PathGuard {
  readonly #beforeWrite: FileToolsOptions['beforeWrite'];

  constructor(options: PathGuardOptions, beforeWrite: FileToolsOptions['beforeWrite']) {
    super(options);
    this.#beforeWrite = beforeWrite;
  }

  override async openInside(...args: Parameters<PathGuard['openInside']>): Promise<Inside> {
    const place = await super.openInside(...args);
    const write = place.write.bind(place);
    place.write = async (...written) => {
      await this.#beforeWrite?.(place.path);
      await write(...written);
    };
    return place;
  }
}
