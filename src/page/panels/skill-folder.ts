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

/** A zip archive of these files, as in PKWARE's APPNOTE: local headers with the data, the directory, its end. */
async function zipOf(files: readonly FolderFile[]): Promise<File> {
  const [first] = files;
  if (first === undefined) throw new Error('This folder is empty.');
  const size = files.reduce((sum, { file }) => sum + file.size, 0);
  if (size > MOST_BYTES) throw new Error(`This folder is not taken: it has more than ${MOST_BYTES / 1024 / 1024} MB.`);
  const parts: Uint8Array<ArrayBuffer>[] = [];
  const directory: Uint8Array<ArrayBuffer>[] = [];
  let offset = 0;
  for (const { path, file } of files) {
    const name = new TextEncoder().encode(path);
    const bytes = new Uint8Array(await file.arrayBuffer());
    const packed = await deflated(bytes);
    // Version 2.0, names in UTF-8, deflated, without a time.
    const facts = [u16(20), u16(0x800), u16(8), u32(0), u32(crc32(bytes)), u32(packed.length), u32(bytes.length)];
    const local = [u32(0x04_03_4b_50), ...facts, u16(name.length), u16(0), name, packed];
    directory.push(u32(0x02_01_4b_50), u16(20), ...facts, u16(name.length));
    // No extra field, comment, disk or attributes.
    directory.push(u16(0), u16(0), u16(0), u16(0), u32(0), u32(offset), name);
    parts.push(...local);
    offset += lengthOf(local);
  }
  const count = u16(files.length);
  const end = [u32(0x06_05_4b_50), u16(0), u16(0), count, count, u32(lengthOf(directory)), u32(offset), u16(0)];
  const folder = first.path.split('/')[0] ?? 'skill';
  return new File([...parts, ...directory, ...end], `${folder}.zip`, { type: 'application/zip' });
}

async function deflated(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream('deflate-raw'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

const TABLE = Uint32Array.from({ length: 256 }, (_, n) => {
  let value = n;
  for (let bit = 0; bit < 8; bit += 1) value = (value & 1) === 1 ? (value >>> 1) ^ 0xed_b8_83_20 : value >>> 1;
  return value;
});

function crc32(bytes: Uint8Array): number {
  let value = 0xff_ff_ff_ff;
  for (const byte of bytes) value = (value >>> 8) ^ (TABLE[(value ^ byte) & 0xff] ?? 0);
  return (value ^ 0xff_ff_ff_ff) >>> 0;
}

function u16(value: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(value & 0xff, value >>> 8);
}

function u32(value: number): Uint8Array<ArrayBuffer> {
  return Uint8Array.of(value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, value >>> 24);
}

function lengthOf(parts: readonly Uint8Array[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
