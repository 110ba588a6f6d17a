import type { PassThrough } from 'node:stream';
import xterm from '@xterm/headless';

type Output = PassThrough & { columns?: number; rows?: number };

/** A terminal that shows what is written to a stream as a person would see it. */
export class VirtualScreen {
  readonly #out: Output;
  readonly #terminal: InstanceType<typeof xterm.Terminal>;

  constructor(out: Output, columns: number, rows: number) {
    this.#out = out;
    out.columns = columns;
    out.rows = rows;
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 5_000, allowProposedApi: true });
    out.on('data', (chunk: Buffer) => this.#terminal.write(chunk.toString().replaceAll(/(?<!\r)\n/gu, '\r\n')));
  }

  /** All lines, also those that have scrolled away, without spaces at their ends. */
  async lines(): Promise<readonly string[]> {
    await new Promise<void>((resolve) => this.#terminal.write('', resolve));
    const { active } = this.#terminal.buffer;
    const lines = Array.from({ length: active.length }, (_, at) =>
      (active.getLine(at)?.translateToString(true) ?? '').trimEnd(),
    );
    return lines.slice(0, lines.findLastIndex((line) => line !== '') + 1);
  }

  async text(): Promise<string> {
    return (await this.lines()).join('\n');
  }

  /** The line that the cursor is in, and its column. */
  async cursor(): Promise<{ readonly line: string; readonly column: number }> {
    await this.lines();
    const { active } = this.#terminal.buffer;
    const line = active.getLine(active.baseY + active.cursorY)?.translateToString(true) ?? '';
    return { line, column: active.cursorX };
  }

  resize(columns: number, rows: number): void {
    this.#terminal.resize(columns, rows);
    this.#out.columns = columns;
    this.#out.rows = rows;
    this.#out.emit('resize');
  }
}
