/** A tag or a text of an XML document. */
export interface XmlEvent {
  readonly type: 'open' | 'close' | 'text';
  /** Of a tag, without its prefix. */
  readonly name: string;
  readonly text: string;
  /** Of an open tag, by its name with the prefix. */
  readonly attribute: (name: string) => string | undefined;
}

const PIECE =
  /<!--[\s\S]*?(?:-->|$)|<!\[CDATA\[(?<data>[\s\S]*?)(?:\]\]>|$)|<[?!][^>]*>?|<(?<slash>\/?)(?:[^\s<>/"':]+:)?(?<name>[^\s<>/"']+)(?<rest>(?:[^<>"']|"[^"]*"|'[^']*')*)>?|(?<text>[^<]+)|</gu;

const NOTHING = { name: '', text: '', attribute: () => undefined };
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/**
 * The tags and texts of an XML document as programs write it, in order; names of elements without their prefix. Only the five entities of XML and numbered
 * characters mean something: none is declared, nothing is fetched. Never fails; what is no XML is passed over.
 */
export function* xmlEvents(xml: string): Generator<XmlEvent> {
  for (const { groups = {} } of xml.matchAll(PIECE)) {
    const { data, slash, name, rest = '', text } = groups;
    const shown = data ?? (text === undefined ? undefined : decoded(text));
    if (shown !== undefined) yield { ...NOTHING, type: 'text', text: shown };
    else if (name !== undefined && slash === '/') yield { ...NOTHING, type: 'close', name };
    else if (name !== undefined) {
      yield { ...NOTHING, type: 'open', name, attribute: (wanted) => attributeOf(rest, wanted) };
      if (rest.endsWith('/')) yield { ...NOTHING, type: 'close', name };
    }
  }
}

function attributeOf(rest: string, wanted: string): string | undefined {
  for (const { groups = {} } of rest.matchAll(
    /(?<name>[^\s=/"']+)\s*=\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)')/gu,
  )) {
    if (groups['name'] === wanted) return decoded(groups['double'] ?? groups['single'] ?? '');
  }
  return undefined;
}

function decoded(text: string): string {
  return text.replaceAll(/&(?:#(?<number>\d{1,7})|#x(?<hex>[\da-f]{1,6})|(?<name>\w{1,8}));/giu, (whole, ...found) => {
    const groups: Record<string, string | undefined> = found.at(-1);
    const { number, hex, name = '' } = groups;
    if (number === undefined && hex === undefined) return ENTITIES[name] ?? whole;
    const code = number === undefined ? Number.parseInt(hex ?? '', 16) : Number(number);
    return code > 0 && code <= 0x10_ff_ff && !(code >= 0xd800 && code <= 0xdfff) ? String.fromCodePoint(code) : '';
  });
}
