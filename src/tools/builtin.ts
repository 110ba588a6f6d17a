import type { PathGuard } from '../security/paths.ts';
import type { Clock } from '../util/clock.ts';
import { editFileTool } from './edit-file.ts';
import { createExecTool, type ExecOptions } from './exec.ts';
import type { ChangeRecorder } from './file-access.ts';
import { listDirTool } from './list-dir.ts';
import { memoryWriteTool, type FactStore } from './memory-write.ts';
import { readFileTool } from './read-file.ts';
import type { Tool } from './tool.ts';
import { writeFileTool } from './write-file.ts';

export interface BuiltinOptions {
  readonly guard: PathGuard;
  /** Keeps what file tools replace, for /undo. */
  readonly changes: ChangeRecorder;
  /** Longest output in characters. */
  readonly maxOutput: number;
  readonly clock: Clock;
  readonly exec: Omit<ExecOptions, 'clock'>;
  readonly memory: FactStore;
}

/** Room for the header and the sentence at the end of a page. */
export const PAGE_MARGIN = 400;

/** The tools that come with the assistant, registered like those of any plugin. */
export function builtinTools(options: BuiltinOptions): readonly Tool[] {
  const { guard, changes, maxOutput, clock, exec, memory } = options;
  return [
    readFileTool({ guard, pageChars: maxOutput - PAGE_MARGIN }),
    writeFileTool({ guard, changes }),
    editFileTool({ guard, changes }),
    listDirTool(guard),
    createExecTool({ ...exec, clock }),
    memoryWriteTool(memory),
  ];
}
