import { toSpans } from './markdown.ts';
import type { Markup } from './markup.ts';
import { isInvisible, visibleText } from './spans.ts';

/** Text for where nothing can be shown but text: links with their addresses behind them, in one part. */
export const plainMarkup: Markup = {
  render: (markdown) => {
    const text = visibleText(toSpans(markdown, () => false)).trim();
    return isInvisible(text) ? [] : [text];
  },
  literal: (text) => (text.trim() === '' ? [] : [text]),
  plain: (part) => part,
  marked: (mark, part) => mark + part,
};
