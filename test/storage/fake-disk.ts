import { type AppendHandle, type OpenAppend, openAppend } from '../../src/core/storage/append-file.ts';

type Fault = 'write' | 'datasync' | 'truncate';

/** A real file behind faults: a disk with room for so many bytes, writes that are cut short, syncs that fail. */
export class FakeDisk {
  /** Bytes that still fit. */
  space = Number.POSITIVE_INFINITY;
  /** The longest single write. */
  longestWrite = Number.POSITIVE_INFINITY;
  /** Operations that fail until removed. */
  readonly failing = new Set<Fault>();
  writes = 0;
  syncs = 0;
  opened = 0;
  closed = 0;
  /** What a power loss leaves of the file: a failed sync forgets what it should have brought there. */
  platter = Buffer.alloc(0);
  #dirty: Buffer[] = [];

  readonly open: OpenAppend = async (path) => {
    const real = await openAppend(path);
    this.opened += 1;
    return this.#wrap(real);
  };

  #wrap(real: AppendHandle): AppendHandle {
    return {
      size: () => real.size(),
      byteAt: (position) => real.byteAt(position),
      write: async (bytes) => {
        this.writes += 1;
        this.#check('write');
        const fits = Math.min(bytes.length, this.space, this.longestWrite);
        if (fits === 0) throw diskError('ENOSPC');
        this.space -= fits;
        this.#dirty.push(Buffer.from(bytes.subarray(0, fits)));
        return real.write(bytes.subarray(0, fits));
      },
      datasync: async () => {
        this.syncs += 1;
        const dirty = this.#dirty;
        this.#dirty = [];
        try {
          this.#check('datasync');
        } catch (error) {
          this.platter = Buffer.concat([this.platter, ...dirty.map(({ length }) => Buffer.alloc(length))]);
          throw error;
        }
        this.platter = Buffer.concat([this.platter, ...dirty]);
        await real.datasync();
      },
      truncate: async (size) => {
        this.#check('truncate');
        const all = Buffer.concat([this.platter, ...this.#dirty]).subarray(0, size);
        const kept = Math.min(size, this.platter.length);
        this.platter = all.subarray(0, kept);
        this.#dirty = [all.subarray(kept)];
        await real.truncate(size);
      },
      close: async () => {
        this.closed += 1;
        await real.close();
      },
    };
  }

  #check(operation: Fault): void {
    if (this.failing.has(operation)) throw diskError('EIO');
  }
}

function diskError(code: string): Error {
  return Object.assign(new Error(`${code}: the disk said no`), { code });
}
