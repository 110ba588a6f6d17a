import { Zip, ZipDeflate } from 'fflate';

/** A file of a folder, with its path from the name of the folder on. */
interface FolderFile {
  readonly path: string;
  readonly file: File;
}

/** One more than a skill may have: the assistant then refuses it with its own sentence. */
const MOST_FILES = 501;
const MOST_ENTRIES = 5_000;
const MOST_BYTES = 56 * 1024 * 1024;
/** What the assistant leaves out of an archive anyway. */
const NOT_COPIED = /(?:^|\/)(?:__MACOSX|\.git|\.DS_Store)(?:\/|$)/u;

/** The folder that was dropped; undefined: none was. To be asked while the event is handled. */
export function droppedFolder(items: DataTransferItemList | undefined): FileSystemDirectoryEntry | undefined {
  const entries = Array.from(items ?? []).map((item) => item.webkitGetAsEntry());
  return entries.find((entry): entry is FileSystemDirectoryEntry => entry?.isDirectory === true);
}

/** Reads a dropped folder into a zip archive. Rejects with a sentence when it has too much. */
export async function zipOfEntry(folder: FileSystemDirectoryEntry): Promise<File> {
  const files: FolderFile[] = [];
  const waiting: FileSystemEntry[] = [folder];
  let seen = 0;
  for (let entry = waiting.shift(); entry !== undefined && files.length < MOST_FILES; entry = waiting.shift()) {
    seen += 1;
    if (seen > MOST_ENTRIES) throw new Error(`This folder is not taken: it has more than ${MOST_ENTRIES} entries.`);
    const path = entry.fullPath.replace(/^\//u, '');
    if (NOT_COPIED.test(path)) continue;
    if (isFolder(entry)) waiting.push(...(await entriesOf(entry)));
    else if (isFile(entry)) files.push({ path, file: await fileOf(entry) });
  }
  return await zipOf(files);
}

/** The same for a folder that was chosen. */
export async function zipOfChosen(chosen: readonly File[]): Promise<File> {
  const files = chosen.map((file) => ({ path: file.webkitRelativePath, file }));
  return await zipOf(files.filter(({ path }) => !NOT_COPIED.test(path)).slice(0, MOST_FILES));
}

function isFolder(entry: FileSystemEntry): entry is FileSystemDirectoryEntry {
  return entry.isDirectory;
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}

async function entriesOf(folder: FileSystemDirectoryEntry): Promise<readonly FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  while (all.length <= MOST_ENTRIES) {
    // A browser returns them in parts.
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (part.length === 0) break;
    all.push(...part);
  }
  return all;
}

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((resolve, reject) => entry.file(resolve, reject));
}

/** A zip archive of these files. One file at a time, so that the page stays responsive between them. */
async function zipOf(files: readonly FolderFile[]): Promise<File> {
  const [first] = files;
  if (first === undefined) throw new Error('This folder is empty.');
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  if (size > MOST_BYTES) throw new Error(`This folder is not taken: it has more than ${MOST_BYTES / 1024 / 1024} MB.`);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const zip = new Zip((error, part) => {
    if (error !== null) throw error;
    parts.push(part);
  });
  for (const { path, file } of files) {
    const packed = new ZipDeflate(path);
    zip.add(packed);
    packed.push(new Uint8Array(await file.arrayBuffer()), true);
  }
  zip.end();
  const folder = first.path.split('/')[0] ?? 'skill';
  return new File(parts, `${folder}.zip`, { type: 'application/zip' });
}
