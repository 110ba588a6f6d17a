import type { CappedFile } from '../../../storage/capped-file.ts';
import { markOf, type Piece, type StreamName } from '../output-order.ts';

/** Changes of the stream that are remembered; those before them are only in the file. */
const MOST_CHANGES = 20_000;

/** The file of both outputs of a program. A line `[stderr]` or `[stdout]` comes before what another stream wrote. */
export class OutputFile {
  readonly #file: Pick<CappedFile, 'bytes' | 'add'>;
  /** Where the mark of another stream begins, in bytes; the first stream has none. */
  #changes: { readonly stream: StreamName; readonly at: number }[] = [];
  #hasBoth = false;
  #last = Buffer.alloc(0);

  constructor(file: Pick<CappedFile, 'bytes' | 'add'>) {
    this.#file = file;
  }

  /** Returns a promise while the file can take no more. */
  add({ stream, bytes }: Piece): Promise<void> | undefined {
    const before = this.#changes.at(-1);
    const isChange = before !== undefined && before.stream !== stream;
    if (before?.stream !== stream) {
      this.#changes.push({ stream, at: this.#file.bytes });
      if (this.#changes.length > MOST_CHANGES) this.#changes = this.#changes.slice(-MOST_CHANGES / 2);
    }
    this.#hasBoth ||= isChange;
    const mark = isChange ? Buffer.from(markOf(stream, this.#last)) : Buffer.alloc(0);
    this.#last = Buffer.from(bytes.subarray(-1));
    return this.#file.add(Buffer.concat([mark, bytes]));
  }

  /** What is to be read before a part of the file that begins at this byte: the mark of stderr, or nothing. */
  markAt(offset: number): string {
    if (!this.#hasBoth) return '';
    const change = this.#changes.findLast(({ at }) => at <= offset);
    const isMarked = offset > 0 && change?.at === offset;
    return change?.stream === 'stderr' && !isMarked ? markOf('stderr', '') : '';
  }
}
