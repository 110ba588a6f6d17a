import * as z from 'zod';
import { filePeek } from '../security/file-peek.ts';
import { AppError } from '../util/errors.ts';
import { oneLine, plural } from '../util/text.ts';
import { previewOf } from './change-preview.ts';
import { decidePathUse, readWhole, writeThrough, type FileAccess } from './file-access.ts';
import { bitsOfFile } from './file-taint.ts';
import { decodeText, encodeText } from './file-text.ts';
import { errorResult } from './result.ts';
import { defineTool, type Tool } from './tool.ts';

/** How many near misses are named. */
const CANDIDATES = 5;
/** How many lines of occurrences are named. */
const MOST_PLACES = 20;

export function editFileTool(files: FileAccess): Tool {
  const { guard } = files;
  return defineTool({
    name: 'edit_file',
    description: 'Replace one exact piece of a text file. oldText must occur exactly once unless replaceAll is true.',
    parameters: z.object({
      path: z.string().min(1).describe('File, relative to the workspace or absolute'),
      oldText: z.string().describe('Text as it stands in the file, without line numbers; empty only for a new file'),
      newText: z.string().describe('What stands there afterwards'),
      replaceAll: z.boolean().optional().describe('Replace every occurrence'),
    }),
    // Done twice it would fail, or change a second place: after a crash its outcome counts as unknown.
    effect: 'effect',
    decide: ({ path, oldText, newText }, context) =>
      decidePathUse(guard, path, 'write', context, () => previewOf(oldText, newText)),
    // What becomes of the file depends on what it holds now.
    binds: async ({ path }) => ({ content: await filePeek.look(guard.resolve(path)) }),
    execute: async ({ path, oldText, newText, replaceAll = false }, context) => {
      const title = `edit ${path}`;
      if (oldText === '') return createNew(files, { path, newText }, context);
      const read = await readWhole(guard, path, context);
      const decoded = decodeText(read.bytes);
      if ('binary' in decoded) return errorResult(title, 'This is a binary file, so it is not edited.');
      const { text, format } = decoded;
      // Line ends are read as \n; only a file of mixed ends may hold the text with bare ones.
      const crlf = text.includes('\r\n') && (text.includes(toCrlf(oldText)) || !text.includes(oldText));
      const wanted = crlf ? toCrlf(oldText) : oldText;
      const places = occurrences(text, wanted, replaceAll ? wanted.length : 1);
      if (places.length === 0) {
        return { ...errorResult(title, notFound(text, oldText)), ...(await bitsOfFile(files.origins, read)) };
      }
      if (places.length > 1 && !replaceAll) {
        return errorResult(
          title,
          `oldText occurs ${places.length} times, at ${linesOf(text, places)}. Add context to it, or set replaceAll.`,
        );
      }
      const changed = text.split(wanted).join(crlf ? toCrlf(newText) : newText);
      await writeThrough(files, { path, bytes: encodeText(changed, format), read }, context);
      return {
        title: `edited ${path}`,
        output: `Replaced ${plural(places.length, 'occurrence')} at ${linesOf(text, places)}.`,
        metadata: { occurrences: places.length },
      };
    },
  });
}

async function createNew(
  files: FileAccess,
  { path, newText }: { path: string; newText: string },
  context: Parameters<Tool['execute']>[1],
): ReturnType<Tool['execute']> {
  const exists = await readWhole(files.guard, path, context).then(
    () => true,
    (error: unknown) => {
      if (error instanceof AppError && error.facts['code'] === 'ENOENT') return false;
      throw error;
    },
  );
  if (exists) {
    return errorResult(
      `edit ${path}`,
      'oldText is empty, which is for new files only, and the file exists. Use write_file to replace it.',
    );
  }
  await writeThrough(files, { path, bytes: Buffer.from(newText, 'utf8') }, context);
  return { title: `created ${path}`, output: 'Created.', metadata: { size: Buffer.byteLength(newText) } };
}

function toCrlf(text: string): string {
  return text.replace(/\r?\n/gu, '\r\n');
}

/** With a `step` below the length of `wanted` places may overlap. */
function occurrences(text: string, wanted: string, step: number): number[] {
  const places: number[] = [];
  for (let at = text.indexOf(wanted); at !== -1; at = text.indexOf(wanted, at + step)) places.push(at);
  return places;
}

function linesOf(text: string, places: readonly number[]): string {
  const lines = places.slice(0, MOST_PLACES).map((at) => text.slice(0, at).split('\n').length);
  return `${places.length === 1 ? 'line' : 'lines'} ${lines.join(', ')}${places.length > MOST_PLACES ? ', …' : ''}`;
}

/** Names lines that match when white space is ignored: most misses are indentation. */
function notFound(text: string, oldText: string): string {
  const flat = (line: string): string => line.replace(/\s+/gu, ' ').trim();
  const first =
    oldText
      .split('\n')
      .map(flat)
      .find((line) => line !== '') ?? '';
  const near = text
    .split('\n')
    .map((line, i) => ({ line, number: i + 1 }))
    .filter(({ line }) => first !== '' && flat(line).includes(first))
    .slice(0, CANDIDATES);
  const hint =
    near.length === 0
      ? 'Read the file again and copy the text exactly.'
      : `These lines are close: ${near.map(({ line, number }) => `${number}: ${oneLine(line, 80)}`).join(' | ')}. White space must match too.`;
  return `oldText does not occur in the file. ${hint}`;
}
