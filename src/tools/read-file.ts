import * as z from 'zod';
import type { PathGuard } from '../security/paths.ts';
import { cut } from '../util/text.ts';
import { decidePathUse, readWhole } from './file-access.ts';
import { bitsOfFile, type FileOrigins } from './file-taint.ts';
import { decodeText } from './file-text.ts';
import { errorResult } from './result.ts';
import { defineTool, type Tool, type ToolResult } from './tool.ts';

const MOST_LINES = 2_000;
const LONGEST_LINE = 2_000;

export interface ReadFileOptions {
  readonly guard: PathGuard;
  /** Characters of one page. */
  readonly pageChars: number;
  /** @default nothing is known of strangers */
  readonly origins?: FileOrigins | undefined;
}

export function readFileTool({ guard, pageChars, origins }: ReadFileOptions): Tool {
  return defineTool({
    name: 'read_file',
    description: 'Read a text file with line numbers. Long files come in pages: continue at the offset it names.',
    parameters: z.object({
      path: z.string().min(1).describe('File, relative to the workspace or absolute'),
      offset: z.int().min(1).optional().describe('First line, from 1'),
      limit: z.int().min(1).max(MOST_LINES).optional().describe('Most lines'),
    }),
    effect: 'none',
    decide: ({ path }, context) => decidePathUse(guard, path, 'read', context),
    execute: async ({ path, offset = 1, limit = MOST_LINES }, context) => {
      const read = await readWhole(guard, path, context);
      const { bytes } = read;
      const decoded = decodeText(bytes);
      if ('binary' in decoded) {
        return errorResult(`read ${path}`, 'This is a binary file, so it is not shown as text.', {
          size: bytes.length,
        });
      }
      const bits = await bitsOfFile(origins, read);
      return { ...page(path, decoded.text, { offset, limit, pageChars, size: bytes.length }), ...bits };
    },
  });
}

function page(
  path: string,
  text: string,
  { offset, limit, pageChars, size }: { offset: number; limit: number; pageChars: number; size: number },
): ToolResult {
  const lines = text === '' ? [] : text.replace(/\r?\n$/u, '').split(/\r?\n/u);
  const title = `read ${path}`;
  if (lines.length === 0) return { title, output: '(the file is empty)', metadata: { size, lines: 0 } };
  if (offset > lines.length) {
    return errorResult(title, `The file has ${lines.length} lines; line ${offset} was asked for.`, { size });
  }
  const longest = Math.min(LONGEST_LINE, pageChars);
  const shown: string[] = [];
  let used = 0;
  for (const [i, line] of lines.slice(offset - 1, offset - 1 + limit).entries()) {
    const numbered = `${offset + i}\t${line.length > longest ? `${cut(line, longest)}… (${line.length} characters)` : line}`;
    used += numbered.length + 1;
    if (used > pageChars && shown.length > 0) break;
    shown.push(numbered);
  }
  const next = offset + shown.length;
  const rest = next <= lines.length ? `\n\n(${lines.length - next + 1} more lines; continue at offset ${next})` : '';
  return {
    title,
    output: shown.join('\n') + rest,
    metadata: { lines: lines.length, size, truncated: rest !== '' },
  };
}
