import { applyEdits, findNodeAtLocation, modify, parseTree, type Edit, type Node } from 'jsonc-parser';
import { AppError } from '../util/errors.ts';
import { parseDocument } from './document.ts';
import { pathText, valueAt, type SettingPath } from './setting.ts';

/**
 * A text of JSON with comments with the value at `path` replaced, or removed when it is undefined. Comments, lines and
 * commas of the rest stay. Throws `config-invalid` when something above `path` is no object.
 */
export function editedText(
  text: string,
  { path, value, file }: { readonly path: SettingPath; readonly value: unknown; readonly file: string },
): string {
  const [mark = ''] = /^\uFEFF/u.exec(text) ?? [];
  const body = text.slice(mark.length);
  const document: unknown = parseDocument(body, file).value;
  if (JSON.stringify(valueAt(document, path)) === JSON.stringify(value)) return text;
  // A number is a place in a list only where there is a list.
  const keys = path.map((key, at) => (Array.isArray(valueAt(document, path.slice(0, at))) ? Number(key) : key));
  const edits = value === undefined ? removal(body, keys) : addition(body, keys, value);
  if (edits !== undefined) return mark + applyEdits(body, edits);
  try {
    const formattingOptions = { insertSpaces: true, tabSize: 2, eol: lineEnd(body) };
    return mark + applyEdits(body, modify(body, keys, value, { formattingOptions }));
  } catch (cause) {
    const message = `${file} cannot be edited: ${pathText(path)} stands below something that is no object. Correct it and run this again.`;
    throw new AppError('config-invalid', message, { cause, exitCode: 78, facts: { file } });
  }
}

type Keys = (string | number)[];

/**
 * The edits that add a property behind the last one of its object: on the same line where the object has one line, else on
 * a line of its own, behind what is said of the last one. Undefined where there is none to stand behind.
 */
function addition(text: string, keys: Keys, value: unknown): Edit[] | undefined {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  if (tree === undefined || findNodeAtLocation(tree, keys) !== undefined) return undefined;
  const { parent, key, rest } = place(tree, keys);
  const last = parent.children?.at(-1);
  if (parent.type !== 'object' || last === undefined || typeof key !== 'string') return undefined;
  const whole = rest.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value);
  const end = last.offset + last.length;
  const formatted = `${JSON.stringify(key)}: ${JSON.stringify(whole, null, 2)}`;
  if (!text.slice(parent.offset, parent.offset + parent.length).includes('\n')) {
    return [{ offset: end, length: 0, content: `, ${formatted.replaceAll(/\n\s*/gu, ' ')}` }];
  }
  const behind = /^[ \t]*(?<comma>,?)[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?=\r?\n)/u.exec(text.slice(end));
  if (behind === null) return undefined;
  const comma = behind.groups?.['comma'] ?? '';
  const eol = lineEnd(text);
  const indent = /[ \t]*$/u.exec(text.slice(0, last.offset))?.[0] ?? '';
  const content = `${eol}${indent}${formatted.replaceAll('\n', `${eol}${indent}`)}${comma}`;
  return [
    ...(comma === '' ? [{ offset: end, length: 0, content: ',' }] : []),
    { offset: end + behind[0].length, length: 0, content },
  ];
}

/** The edits that take a property out: its lines with what is said of it there, or its part of a line. */
function removal(text: string, keys: Keys): Edit[] | undefined {
  const tree = parseTree(text, [], { allowTrailingComma: true });
  const property = tree === undefined ? undefined : findNodeAtLocation(tree, keys)?.parent;
  if (property?.type !== 'property') return undefined;
  const [, blank] = /(?:^|\n)(?<blank>[ \t]*)$/u.exec(text.slice(0, property.offset)) ?? [];
  const end = property.offset + property.length;
  const [tail = '', comma] =
    /^[ \t]*(?<comma>,?)[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/[ \t]*)?(?:\r?\n|$)/u.exec(text.slice(end)) ?? [];
  const siblings = property.parent?.children ?? [];
  const before = siblings[siblings.indexOf(property) - 1];
  const beforeEnd = before === undefined ? property.offset : before.offset + before.length;
  const separator = comma === '' || blank === undefined ? /^\s*,/u.exec(text.slice(beforeEnd)) : null;
  const commaBefore = separator === null ? [] : [{ offset: beforeEnd, length: separator[0].length, content: '' }];
  if (blank !== undefined && tail !== '') {
    const from = property.offset - blank.length;
    return [...commaBefore, { offset: from, length: end + tail.length - from, content: '' }];
  }
  const [next = ''] = /^\s*,[ \t]*/u.exec(text.slice(end)) ?? [];
  if (next !== '') return [{ offset: property.offset, length: property.length + next.length, content: '' }];
  if (/^[ \t]*,?[ \t]*$/u.test(text.slice(beforeEnd, property.offset))) {
    return [{ offset: beforeEnd, length: end - beforeEnd, content: '' }];
  }
  return [...commaBefore, { offset: property.offset, length: property.length, content: '' }];
}

/** The innermost node on the way that is there, the key that it lacks, and the keys below that. */
function place(tree: Node, keys: Keys): { readonly parent: Node; readonly key: string | number; readonly rest: Keys } {
  let parent = tree;
  let at = 0;
  for (; at < keys.length - 1; at += 1) {
    const next = findNodeAtLocation(parent, keys.slice(at, at + 1));
    if (next === undefined) break;
    parent = next;
  }
  return { parent, key: keys[at] ?? '', rest: keys.slice(at + 1) };
}

function lineEnd(text: string): string {
  return text.includes('\r\n') ? '\r\n' : '\n';
}
