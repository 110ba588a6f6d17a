import { Tokenizer } from 'htmlparser2';

/** What `readHtml` calls, in the order of the page. One that returns false ends the reading. */
export interface HtmlReader {
  /** Text between two tags, with its entities resolved. */
  text?(text: string): boolean | void;
  /** A start tag. Names are in lower case; of an attribute that is given twice, the first counts. */
  open?(name: string, attributes: ReadonlyMap<string, string>): boolean | void;
  /** An end tag. `<br/>` has none. */
  close?(name: string): boolean | void;
}

/** Elements that have no content and no end tag. */
export const VOID_ELEMENTS: ReadonlySet<string> = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
);

/**
 * Reads the tags and texts of a page without building a tree or keeping a stack, so that its time grows with the
 * length of the page alone: for pages that are too large, too deep or too odd for a parser. Never throws by itself.
 */
export function readHtml(html: string, reader: HtmlReader): void {
  let text = '';
  let name = '';
  let attribute = '';
  let value = '';
  let attributes = new Map<string, string>();
  const proceed = (answer: boolean | void): void => {
    if (answer === false) tokenizer.pause();
  };
  const flush = (): void => {
    if (text !== '') proceed(reader.text?.(text));
    text = '';
  };
  const open = (): void => {
    if (tokenizer.running) proceed(reader.open?.(name, attributes));
    attributes = new Map();
  };
  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => {
        text += html.slice(start, end);
      },
      ontextentity: (codepoint) => {
        text += String.fromCodePoint(codepoint);
      },
      onopentagname: (start, end) => {
        flush();
        name = html.slice(start, end).toLowerCase();
      },
      onattribname: (start, end) => {
        attribute = html.slice(start, end).toLowerCase();
        value = '';
      },
      onattribdata: (start, end) => {
        value += html.slice(start, end);
      },
      onattribentity: (codepoint) => {
        value += String.fromCodePoint(codepoint);
      },
      onattribend: () => {
        if (!attributes.has(attribute)) attributes.set(attribute, value);
      },
      onopentagend: open,
      onselfclosingtag: open,
      onclosetag: (start, end) => {
        flush();
        if (tokenizer.running) proceed(reader.close?.(html.slice(start, end).toLowerCase()));
      },
      onend: flush,
      oncdata: () => {},
      oncomment: () => {},
      ondeclaration: () => {},
      onprocessinginstruction: () => {},
    },
  );
  tokenizer.write(html);
  if (tokenizer.running) tokenizer.end();
}
