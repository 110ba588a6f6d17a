import type { App } from '../../app.ts';
import { contextOutsideTurn } from '../../tools/outside-turn.ts';
import { camelCase, ownParameter } from '../../tools/registry/arguments.ts';
import { renderResult } from '../../tools/registry/result.ts';
import type { ToolContext } from '../../tools/tool.ts';
import { cut } from '../../util/text.ts';
import { withheldFromRun } from '../withheld-tools.ts';
import type { ChatCommand, CommandContext } from './command.ts';

/** The names of a tool's parameters. */
interface ParameterNames {
  readonly names: readonly string[];
  /** The first required one. */
  readonly first: string | undefined;
}

/** Characters of a result that the reply shows. */
const MOST_SHOWN = 8_000;

/** `,tool key=value …`: runs a tool under the usual rules, but without the model and its cost. */
export const commaCommand =
  (app: App) =>
  (name: string): ChatCommand => ({
    name,
    description: 'run this tool directly',
    role: 'owner',
    priority: false,
    interrupts: false,
    run: async (context) => {
      const { tools } = app;
      const known = tools.named(name)?.name;
      const schema = tools.list().find(({ tool }) => tool.name === known)?.spec.parameters;
      const call = { name, arguments: commaArguments(context.args, parametersOf(schema)) };
      const result = await tools.run(call, await ownersToolContext(context, app));
      return fenced(cut(renderResult(result), MOST_SHOWN));
    },
  });

/** For a tool that the owner calls by hand: no untrusted text is involved. */
async function ownersToolContext(
  { message, turnId, signal }: CommandContext,
  { paths, questions, spill, media, editors, editorFiles, turnSkills }: App,
): Promise<ToolContext> {
  const { sessionKey } = message;
  const callId = `${turnId}.1`;
  const { role, chatType, origin, channel, sender } = message;
  return contextOutsideTurn({
    signal,
    call: { id: callId, turnId, sessionKey, messageId: message.id },
    person: { role, chatType, origin, who: `${channel}:${sender.id}`, chat: null },
    files: {
      workingDirectory: paths.workspace,
      readRoots: [spill.folder(sessionKey), media.folder(sessionKey), ...(await turnSkills.folders())],
      roots: [editors.folderOf(sessionKey)].filter((folder) => folder !== undefined),
      store: editorFiles.of([sessionKey]),
    },
    withheld: (tool) => withheldFromRun(message, tool),
    approve: (request) => questions.approve({ sessionKey, callId, turnId, signal, target: message }, request),
  });
}

function parametersOf(schema: Readonly<Record<string, unknown>> | undefined): {
  names: readonly string[];
  first: string | undefined;
} {
  const properties = schema?.['properties'];
  const required = schema?.['required'];
  const [first] = Array.isArray(required) ? required : [];
  return {
    names: typeof properties === 'object' && properties !== null ? Object.keys(properties) : [],
    first: typeof first === 'string' ? first : undefined,
  };
}

/** A code block whose fence is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}

/** Names of parameters in other programs that people type by habit, in camelCase. */
const OTHER_NAMES: ReadonlySet<string> = new Set(['cmd', 'filePath', 'oldString', 'newString']);

/**
 * The arguments of `,tool …` as JSON: `{…}` is taken as it is, `key=value key="two words"` by key (a value extends to
 * the next known key), anything else is the value of the first required parameter.
 */
export function commaArguments(text: string, { names, first }: ParameterNames): string {
  if (text === '') return '{}';
  if (text.startsWith('{')) return text;
  const written = [...text.matchAll(/(?<=^|\s)(?<key>[A-Za-z]\w*)=/gu)];
  const given = new Set(written.map((match) => match.groups?.['key'] ?? ''));
  const keys = written.filter((match) => {
    const key = match.groups?.['key'] ?? '';
    if (names.includes(key)) return true;
    // Other words before an equals sign are more likely part of a value than another name of a parameter.
    const isName = OTHER_NAMES.has(camelCase(key)) || names.includes(camelCase(key));
    const own = isName ? ownParameter(key, (name) => names.includes(name)) : undefined;
    return own !== undefined && !given.has(own);
  });
  if (keys[0]?.index !== 0) return JSON.stringify(first === undefined ? { text } : { [first]: text });
  const pairs = keys.map((match, index) => {
    const key = match.groups?.['key'] ?? '';
    const value = text.slice(match.index + key.length + 1, keys[index + 1]?.index).trim();
    return [key, unquoted(value)];
  });
  return JSON.stringify(Object.fromEntries(pairs));
}

/** Quotes of keyboards and phones: the opening ones of a kind, and the closing ones. */
const QUOTES = [
  ['"', '"'],
  ["'", "'"],
  ['“„”', '“”'],
  ['‘‚', '‘’'],
] as const;

/** Removes quotes around a whole value, and the backslashes before such quotes inside. */
function unquoted(value: string): string {
  for (const [open, close] of QUOTES) {
    const inner = new RegExp(String.raw`^[${open}](?<inner>(?:[^${open}\\]|\\[\s\S])*)[${close}]$`, 'u').exec(
      value,
    )?.[1];
    if (inner !== undefined) return inner.replaceAll(new RegExp(String.raw`\\(?=[${open}${close}])`, 'gu'), '');
  }
  return value;
}
