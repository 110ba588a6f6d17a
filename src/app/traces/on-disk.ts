import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { namesIn, replaceDurable } from '../../core/storage/files.ts';
import { AppError, errorMessage } from '../../core/util/errors.ts';

/** Creates or replaces a trace file, which only its owner may read. Throws an error of one sentence when it cannot. */
export async function writeTrace(file: string, text: string): Promise<void> {
  await replaceDurable(file, text).catch((error: unknown) => {
    throw new AppError('trace-not-written', `The trace cannot be written to ${file}: ${errorMessage(error)}`);
  });
}

/** The text of a trace file. Throws an error of one sentence when it cannot be read. */
export async function readTrace(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError('trace-unreadable', `The trace ${file} cannot be read: ${errorMessage(error)}`);
  });
}

/** The paths of the traces (`*.jsonl`) of a folder by their names, in order; none if there is no folder. */
export async function tracesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await namesIn(folder)).filter((name) => name.endsWith('.jsonl')).toSorted();
  return new Map(names.map((name) => [name, join(folder, name)]));
}
