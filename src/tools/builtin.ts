import type { PathGuard } from '../security/paths.ts';
import type { Clock } from '../util/clock.ts';
import { editFileTool } from './edit-file.ts';
import { createExecTool, type ExecOptions } from './exec.ts';
import { listDirTool } from './list-dir.ts';
import { readFileTool } from './read-file.ts';
import type { Tool } from './tool.ts';
import { writeFileTool } from './write-file.ts';

export interface BuiltinOptions {
  readonly guard: PathGuard;
  /** Longest output in characters. */
  readonly maxOutput: number;
  readonly clock: Clock;
  readonly exec: Omit<ExecOptions, 'clock'>;
}

/** Room for the header and the sentence at the end of a page. */
const PAGE_MARGIN = 400;

/** The tools that come with the assistant, registered like those of any plugin. */
export function builtinTools({ guard, maxOutput, clock, exec }: BuiltinOptions): readonly Tool[] {
  return [
    readFileTool({ guard, pageChars: maxOutput - PAGE_MARGIN }),
    writeFileTool(guard),
    editFileTool(guard),
    listDirTool(guard),
    createExecTool({ ...exec, clock }),
  ];
}
