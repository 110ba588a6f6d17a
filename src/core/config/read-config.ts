import { lstat, readFile, readlink, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { deniedSentence, mayBeDenied } from '../storage/denied.ts';
import { ifThere } from '../storage/files.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError, errorCode, errorMessage } from '../util/errors.ts';
import { failed, type Found, sentenceOf } from '../util/finding.ts';
import { shellWord } from '../util/text.ts';

/**
 * The text of `config.json`; undefined where there is none. Throws `config-unreadable` (exit code 78) with the path, the
 * cause and what to do when it is there and is no text that can be read.
 */
export async function readConfigFile(file: string): Promise<string | undefined> {
  try {
    const facts = await ifThere(stat(file));
    if (facts === undefined) return await nothingAt(file);
    // Reading a pipe would wait for its writer without end.
    if (!facts.isFile()) throw unreadable(file, ...otherThanFile(file, facts.isDirectory()));
    return textOf(await readFile(file), file);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const denied = mayBeDenied(error) ? deniedSentence(dirname(file)) : null;
    if (denied !== null) throw new AppError('config-unreadable', denied, { exitCode: 78, facts: { file } });
    if (errorCode(error) === 'ELOOP') {
      throw unreadable(file, 'is a link that leads back to itself', 'To remove it', `rm ${shellWord(file)}`);
    }
    throw unreadable(file, `cannot be read (${errorMessage(error)})`, 'To look at it', `ls -l ${shellWord(file)}`);
  }
}

/** A link that leads to no file is told: without its settings the assistant would be another one. */
async function nothingAt(file: string): Promise<undefined> {
  const facts = await ifThere(lstat(file));
  if (facts?.isSymbolicLink() !== true) return undefined;
  const cause = `is a link to ${await readlink(file)}, where no file is`;
  throw unreadable(file, cause, 'Put the file there. To remove the link instead', `rm ${shellWord(file)}`);
}

function otherThanFile(file: string, isFolder: boolean): readonly [cause: string, lead: string, remedy: string] {
  const what = isFolder ? 'a folder' : 'a device, a pipe or a socket';
  return [`is ${what} instead of a file`, 'To move it away', `mv ${shellWord(file)} ${shellWord(`${file}.old`)}`];
}

function textOf(bytes: Buffer, file: string): string {
  try {
    // The mark of UTF-8 at the beginning stays, so that an edit keeps it.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    const isUtf16 = (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff);
    const cause = isUtf16 ? 'is a text in UTF-16' : `is no text in UTF-8 (line ${lineOfFault(bytes)})`;
    throw unreadable(
      file,
      cause,
      'Save it as UTF-8 in your editor. To check it then',
      assistantCommand('config check'),
    );
  }
}

/** The first line that is no UTF-8, from 1. */
function lineOfFault(bytes: Buffer): number {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  for (let line = 1, from = 0; ; line += 1) {
    const end = bytes.indexOf('\n', from);
    try {
      decoder.decode(bytes.subarray(from, end === -1 ? undefined : end));
    } catch {
      return line;
    }
    if (end === -1) return line;
    from = end + 1;
  }
}

/** What is wrong with a file that could not be read, and what to do; undefined: the error is another. */
export function findingIn(error: unknown): Found | undefined {
  return error instanceof Unreadable ? error.finding : undefined;
}

class Unreadable extends AppError {
  readonly finding: Found;

  constructor(file: string, finding: Found) {
    super('config-unreadable', sentenceOf(finding), { exitCode: 78, facts: { file } });
    this.finding = finding;
  }
}

function unreadable(file: string, cause: string, lead: string, remedy: string): AppError {
  return new Unreadable(file, { ...failed(`${file} ${cause}.`, remedy), lead });
}
