import { diffLines } from '../../core/util/line-diff.ts';

type Fields = Readonly<Record<string, unknown>>;

/** What a call was given, by name; text that is no JSON object is one argument. */
export function argumentsOf(json: string): readonly (readonly [string, string])[] {
  const fields = read(json);
  if (fields === undefined) return json === '' ? [] : [['arguments', json]];
  return Object.entries(fields).map(([name, value]) => [name, asText(value)]);
}

/** One line about a call: the tool and what it is about. */
export function titleOf(name: string, json: string): string {
  const fields = read(json) ?? {};
  const first = ['command', 'path', 'query', 'url', 'name', 'title', 'task', 'text', 'action']
    .map((key) => fields[key])
    .concat(Object.values(fields))
    .find((value) => typeof value === 'string' && value !== '');
  const about = typeof first === 'string' ? first.replace(/\s+/gu, ' ').slice(0, 160) : '';
  return about === '' ? name : `${name} ${about}`;
}

/** The lines that a call changes in a file; undefined: it is none that edits. */
export function changeOf(name: string, json: string): readonly string[] | undefined {
  const fields = read(json);
  if (fields === undefined) return undefined;
  const { path, oldText, newText, content, patch } = fields;
  const title = typeof path === 'string' ? [path] : [];
  if (name === 'edit_file' && typeof oldText === 'string' && typeof newText === 'string') {
    return [...title, ...diffLines(oldText, newText).map(({ sign, line }) => `${sign} ${line}`)];
  }
  if (name === 'write_file' && typeof content === 'string') {
    return [...title, ...content.split('\n').map((line) => `+ ${line}`)];
  }
  return name === 'apply_patch' && typeof patch === 'string' ? patch.split('\n') : undefined;
}

function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}

function read(json: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}
