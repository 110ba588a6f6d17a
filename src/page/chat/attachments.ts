import { signal } from '@preact/signals';
import type { UploadReply } from '../../core/gateway/http/wire.ts';
import { newId } from '../net/ids.ts';
import { ask, sentenceOf } from '../net/http.ts';

const MOST_BYTES = 20_000_000;
const MOST_FILES = 10;

/** A file that will go with the next message. */
export interface Attachment {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  /** A picture of it, for images. */
  readonly preview: string | undefined;
  readonly state: 'uploading' | 'ready' | 'failed';
  readonly upload?: string;
  readonly problem?: string;
}

/** The files of the message that is being written; each is uploaded as soon as it is added. */
export class Attachments {
  readonly list = signal<readonly Attachment[]>([]);
  readonly #running = new Set<Promise<void>>();

  add(files: Iterable<File> | ArrayLike<File> | undefined): void {
    for (const file of Array.from(files ?? [])) {
      if (this.list.value.length >= MOST_FILES) return;
      const upload = this.#upload(file).finally(() => this.#running.delete(upload));
      this.#running.add(upload);
    }
  }

  /** Resolves when nothing is being uploaded any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#running);
  }

  remove(id: string): void {
    const gone = this.list.value.find((one) => one.id === id);
    if (gone?.preview !== undefined) URL.revokeObjectURL(gone.preview);
    this.list.value = this.list.value.filter((one) => one.id !== id);
  }

  clear(): void {
    for (const { id } of this.list.value) this.remove(id);
  }

  async #upload(file: File): Promise<void> {
    const name = file.name === '' ? 'file' : file.name;
    const isImage = /^image\/(?:png|jpeg|gif|webp)$/u.test(file.type);
    const attachment: Attachment = {
      id: newId(),
      name,
      size: file.size,
      preview: isImage ? URL.createObjectURL(file) : undefined,
      state: 'uploading',
    };
    this.list.value = [...this.list.value, attachment];
    if (file.size > MOST_BYTES) {
      this.#change({ ...attachment, state: 'failed', problem: 'Larger than 20 MB, which is the most.' });
      return;
    }
    try {
      const { upload } = await uploadFile(file, name);
      this.#change({ ...attachment, state: 'ready', upload });
    } catch (error) {
      this.#change({ ...attachment, state: 'failed', problem: sentenceOf(error) });
    }
  }

  #change(attachment: Attachment): void {
    this.list.value = this.list.value.map((one) => (one.id === attachment.id ? attachment : one));
  }
}

/** Hands a file to the assistant, which keeps it until a message uses it, or for an hour. */
export async function uploadFile(file: Blob, name: string): Promise<UploadReply> {
  return await ask<UploadReply>(`/api/uploads?${new URLSearchParams({ name })}`, {
    method: 'POST',
    headers: { 'Content-Type': file.type === '' ? 'application/octet-stream' : file.type },
    body: file,
  });
}
