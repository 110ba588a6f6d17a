import { PAGE_MARGIN } from './registry/result.ts';
import type { PathGuard } from '../security/paths/open-inside.ts';
import type { Clock } from '../util/clock.ts';
import { documentReader } from './documents/document-reader.ts';
import type { FileOrigins } from './files/taint.ts';
import { applyPatchTool, editFileTool } from './files/edit.ts';
import { createFindFiles } from './files/search/find.ts';
import { globTool } from './files/search/glob.ts';
import { grepTool } from './files/search/grep.ts';
import { listDirTool } from './files/list-dir.ts';
import { readFileTool } from './files/read-file.ts';
import type { ReadApart } from './reading/reader.ts';
import type { Tool } from './tool.ts';
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
  /** Reads documents. */
  readonly read: ReadApart;
  /** Stores an image for the model; returns its absolute path. @default images are not shown to the model */
  readonly keepImage?: (bytes: Uint8Array) => Promise<string>;
}

/** The built-in tools. */
export function builtinTools(options: BuiltinOptions): readonly Tool[] {
  const { guard, changes, origins, versioned, maxOutput, clock, read, keepImage } = options;
  const files = { guard, origins, pageChars: maxOutput - PAGE_MARGIN };
  const readDocument = documentReader(read);
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
  ];
}
