import { toSpans } from './markdown.ts';
import { isInvisible, spanText } from './spans.ts';

/** Text for where nothing can be shown but text: links with their addresses behind them, in one part. */
export const plainMarkup: Markup = {
  render: (markdown) => {
    const text = spanText(toSpans(markdown, () => false)).trim();
    return isInvisible(text) ? [] : [text];
  },
  literal: (text) => (text.trim() === '' ? [] : [text]),
  plain: (part) => part,
  marked: (mark, part) => mark + part,
};

/** How one platform shows text. Pure. */
export interface Markup {
  /** Markdown → parts that each fit into one message and stand alone; none where nothing could be seen. */
  readonly render: (markdown: string) => readonly string[];
  /** Text that is not read as Markdown → parts that show it as it is; none for blank text. Shares no code with `render`. */
  readonly literal: (text: string) => readonly string[];
  /** What a part shows, without markup: for when the platform does not take it as it is. */
  readonly plain: (part: string) => string;
  /** A part with a short mark, of at most two units, in front that leaves its markup as it was. */
  readonly marked: (mark: string, part: string) => string;
}
