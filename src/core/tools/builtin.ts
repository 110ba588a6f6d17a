import { PAGE_MARGIN } from './registry/result.ts';
import type { GuardedFetch } from '../security/fetch/fetch.ts';
import type { Sandbox } from '../security/enclosure/sandbox.ts';
import type { PathGuard } from '../security/paths/open-inside.ts';
import type { Clock } from '../util/clock.ts';
import type { BackgroundProcesses } from './exec/background.ts';
import { createDocumentReader } from './documents/document-reader.ts';
import { createExecTool, type ExecOptions } from './exec/exec.ts';
import type { FileOrigins } from './files/taint.ts';
import { applyPatchTool, editFileTool } from './files/edit.ts';
import { createFindFiles } from './files/search/find.ts';
import { globTool, grepTool } from './files/search/search.ts';
import { listDirTool } from './files/list-dir.ts';
import { processTool } from './exec/process-tool.ts';
import { readFileTool } from './files/read-file.ts';
import type { Tool } from './tool.ts';
import { webFetchTool } from './web/web-fetch.ts';
import { createPageReader } from './web/page-reader.ts';
import { webSearchTool, type WebSearchOptions } from './web/web-search.ts';
import type { FileAccess } from './files/access.ts';
import { writeFileTool } from './files/write-file.ts';

export interface BuiltinOptions {
  readonly guard: PathGuard;
  /** Keeps the files that file tools replace, for /undo. */
  readonly changes: FileAccess['changes'];
  /** Knows which files hold untrusted content. @default none is known */
  readonly origins?: FileOrigins;
  /** As in `FileAccess`. @default no file has versions */
  readonly versioned?: FileAccess['versioned'];
  /** Longest output in characters. */
  readonly maxOutput: number;
  readonly clock: Clock;
  readonly exec: Omit<ExecOptions, 'clock'> & {
    /** @default no command can run in the background */ readonly background?: BackgroundProcesses;
  };
  /** What documents and pages are read in. @default nothing but limits and permissions of the child */
  readonly sandbox?: Pick<Sandbox, 'probe'> | null;
  /** Fetches URLs that a model or untrusted content chose. */
  readonly fetch: GuardedFetch;
  readonly search: WebSearchOptions;
  /** Stores an image for the model; returns its absolute path. @default images are not shown to the model */
  readonly keepImage?: (bytes: Uint8Array) => Promise<string>;
}

/** The built-in tools. */
export function builtinTools(options: BuiltinOptions): readonly Tool[] {
  const { guard, changes, origins, versioned, maxOutput, clock, exec, sandbox, fetch, search, keepImage } = options;
  const files = { guard, origins, pageChars: maxOutput - PAGE_MARGIN };
  const readDocument = createDocumentReader({ clock, sandbox: sandbox ?? undefined });
  const readPage = createPageReader({ clock, readDocument });
  const written = { guard, changes, origins, versioned };
  const finding = { ...files, find: createFindFiles({ clock }) };
  return [
    readFileTool({ ...files, keepImage, readDocument }),
    writeFileTool(written),
    editFileTool(written),
    applyPatchTool(written),
    listDirTool(guard, origins),
    globTool(finding),
    grepTool(finding),
    createExecTool({ ...exec, clock, origins }),
    ...(exec.background === undefined ? [] : [processTool({ ...files, processes: exec.background, clock })]),
    webFetchTool({ fetch, clock, readPage, maxChars: maxOutput - PAGE_MARGIN }),
    webSearchTool(search),
  ];
}
