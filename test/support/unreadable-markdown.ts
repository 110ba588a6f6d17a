import MarkdownIt from 'markdown-it';
import { vi } from 'vitest';

/** Until it is disposed, reading Markdown that holds `poison` fails as a defect of the program would. */
export function unreadableMarkdown(poison: string): Disposable {
  const parse: unknown = Reflect.get(MarkdownIt.prototype, 'parse');
  if (typeof parse !== 'function') throw new Error('markdown-it has no parse');
  return vi.spyOn(MarkdownIt.prototype, 'parse').mockImplementation(function (this: unknown, text, env) {
    if (text.includes(poison)) throw new TypeError('cannot read properties of undefined');
    return Reflect.apply(parse, this, [text, env]);
  });
}
