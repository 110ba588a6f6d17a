import type { App, Contributions } from '../../core/api.ts';
import { createReader, PAGE_MARGIN } from '../../core/api-tools.ts';
import { documentReader } from './documents/document-reader.ts';
import { applyPatchTool, editFileTool } from './edit.ts';
import { listDirTool } from './list-dir.ts';
import { readFileTool } from './read-file.ts';
import { createFindFiles } from './search/find.ts';
import { globTool, grepTool } from './search/search.ts';
import { writeFileTool } from './write-file.ts';

export function openFiles(app: App): Contributions {
  const { files, clock, config } = app;
  const reading = { ...files, pageChars: config.agent.toolResultChars - PAGE_MARGIN };
  const finding = { ...reading, find: createFindFiles({ clock }) };
  return {
    tools: [
      readFileTool({ ...reading, readDocument: documentReader(app.once(createReader)) }),
      writeFileTool(files),
      editFileTool(files),
      applyPatchTool(files),
      listDirTool(files.guard, files.marks),
      globTool(finding),
      grepTool(finding),
    ],
  };
}
