import { basename, extname } from 'node:path';
import type { Media } from '../bus/messages.ts';
import type { PathGuard } from '../security/paths.ts';
import { readWhole } from './file-access.ts';
import type { ToolContext } from './tool.ts';

export interface MediaDesk {
  readonly guard: PathGuard;
  /** Keeps a copy, so that what is sent later is what was meant now; returns its absolute path. */
  readonly keep: (bytes: Uint8Array) => Promise<string>;
}

const TYPES: Readonly<Record<string, Pick<Media, 'kind' | 'mediaType'>>> = {
  '.png': { kind: 'image', mediaType: 'image/png' },
  '.jpg': { kind: 'image', mediaType: 'image/jpeg' },
  '.jpeg': { kind: 'image', mediaType: 'image/jpeg' },
  '.webp': { kind: 'image', mediaType: 'image/webp' },
  '.ogg': { kind: 'audio', mediaType: 'audio/ogg' },
  '.oga': { kind: 'audio', mediaType: 'audio/ogg' },
  '.mp3': { kind: 'audio', mediaType: 'audio/mpeg' },
  '.mp4': { kind: 'video', mediaType: 'video/mp4' },
};
const OTHER = { kind: 'document', mediaType: 'application/octet-stream' } as const;

/** A file that a tool may read, as one to be sent. */
export async function mediaFrom(path: string, { guard, keep }: MediaDesk, context: ToolContext): Promise<Media> {
  const { bytes, path: real } = await readWhole(guard, path, context);
  const type = TYPES[extname(real).toLowerCase()] ?? OTHER;
  return { ...type, path: await keep(bytes), name: basename(real), size: bytes.byteLength };
}
