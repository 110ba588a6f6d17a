import type { ToolSpec } from '../../core/api-providers.ts';

/** The tool calls that the demo model makes for a sentence, in order, and sentences about calls that it cannot make. */
export interface DemoPlan {
  readonly calls: readonly DemoCall[];
  readonly remarks: readonly string[];
}

interface DemoCall {
  readonly tool: string;
  readonly arguments: Readonly<Record<string, string>>;
}

/** Arguments of a tool call. Each has several possible parameter names; the first that the tool has is used. */
type Wanted = readonly (readonly [names: readonly string[], value: string])[];

interface Rule {
  readonly pattern: RegExp;
  readonly tool: string;
  readonly wanted: (groups: Readonly<Record<string, string | undefined>>) => Wanted;
}

const PATH = ['path', 'file_path', 'file'];
const VERBS = 'list|what|which|ls|show|read|cat|write|create|make|run|execute|replace|remember|remind|help';

const RULES: readonly Rule[] = [
  {
    pattern:
      /^(?:ls(?: (?<path>\S+?))?|(?:list|show)(?: me)?(?: (?:the|my|all))* (?:files|folder|directory)(?: (?:in|of|under)(?: the)?(?: folder)? (?<folder>\S+?))?)[.!?]*$/iu,
    tool: 'list_dir',
    wanted: ({ path, folder }) => [[PATH, path ?? folder ?? '.']],
  },
  {
    pattern:
      /^(?:what(?: files| is|'s|’s)?|which files)(?: (?:is|are))?(?: there)? in(?: (?:my|the|your|this))? (?:(?:workspace|folder|directory)|(?<folder>\S+?))[.!?]*$/iu,
    tool: 'list_dir',
    wanted: ({ folder }) => [[PATH, folder ?? '.']],
  },
  {
    pattern:
      /^(?:create|make|write)(?: (?:a|the|new))* file (?<path>\S+) (?:with|containing)(?: the)?(?: (?:text|content))? (?<content>.+)$/isu,
    tool: 'write_file',
    wanted: ({ path = '', content = '' }) => [
      [PATH, path],
      [['content', 'text'], content],
    ],
  },
  {
    pattern: /^write (?<content>.+) (?:to|into)(?: the)?(?: file)? (?<path>\S+?)[.!?]*$/isu,
    tool: 'write_file',
    wanted: ({ path = '', content = '' }) => [
      [PATH, path],
      [['content', 'text'], content],
    ],
  },
  {
    pattern: /^replace (?<before>.+?) (?:by|with) (?<after>.+) in(?: the)?(?: file)? (?<path>\S+?)[.!?]*$/isu,
    tool: 'edit_file',
    wanted: ({ path = '', before = '', after = '' }) => [
      [PATH, path],
      [['old_text', 'oldText', 'old_string', 'old', 'search'], before],
      [['new_text', 'newText', 'new_string', 'new', 'replacement'], after],
    ],
  },
  {
    pattern: /^(?:run|execute)(?: the)?(?: command)? (?<command>\w+(?=[.!?]*$)|.+)[.!?]*$/isu,
    tool: 'exec',
    wanted: ({ command = '' }) => [[['command'], command]],
  },
  {
    pattern: /^remember(?: that)? (?<fact>.+)$/isu,
    tool: 'memory_write',
    wanted: ({ fact = '' }) => [[['content', 'text', 'fact', 'note', 'entry'], fact]],
  },
  {
    pattern: /^remind me (?:(?<when>(?:in|at) .+?) to (?<what>.+)|to (?<what2>.+) (?<when2>(?:in|at) .+?))[.!?]*$/isu,
    tool: 'cron',
    wanted: ({ when, when2, what, what2 }) => [
      [['action'], 'add'],
      [['kind'], 'message'],
      [['message', 'text', 'prompt', 'content'], what ?? what2 ?? ''],
      [['when', 'in', 'after', 'at', 'schedule'], when ?? when2 ?? ''],
    ],
  },
];

const READ = /^(?:read|show|cat)(?: me)?(?: the)?(?: file)? (?<paths>\S+?(?:(?:,| and|, and) \S+?)*)[.!?]*$/iu;

/** Plans tool calls for a sentence by fixed patterns; undefined when no pattern matches. */
export function understand(sentence: string, tools: readonly ToolSpec[]): DemoPlan | undefined {
  const text = sentence.trim().replace(/^please[ ,]+/iu, '');
  const steps = text.split(new RegExp(`,? (?:and )?then (?=(?:${VERBS})\\b)`, 'iu'));
  const calls = steps.flatMap((step) => compoundStep(step) ?? []);
  if (calls.length === 0) return undefined;
  const kept: DemoCall[] = [];
  const remarks: string[] = [];
  for (const { tool, wanted } of calls) {
    const spec = tools.find(({ name }) => name === tool);
    if (spec === undefined) remarks.push(`I may not use the tool ${tool} for you here.`);
    else kept.push({ tool, arguments: fill(spec, wanted) });
  }
  return { calls: kept, remarks };
}

interface WantedCall {
  readonly tool: string;
  readonly wanted: Wanted;
}

/** Splits "read A and run B" into two steps if each half matches a pattern; otherwise the whole text is one step. */
function compoundStep(text: string): readonly WantedCall[] | undefined {
  const halves = text.split(new RegExp(`,? and (?=(?:${VERBS})\\b)`, 'iu')).map(oneStep);
  const all = halves.every((half) => half !== undefined) ? halves.flat() : undefined;
  return all ?? oneStep(text);
}

function oneStep(text: string): readonly WantedCall[] | undefined {
  const step = text.trim();
  for (const { pattern, tool, wanted } of RULES) {
    const groups = pattern.exec(step)?.groups;
    if (groups === undefined) continue;
    const plain = Object.fromEntries(Object.entries(groups).map(([name, value]) => [name, unquote(value)]));
    return [{ tool, wanted: wanted(plain) }];
  }
  const paths = READ.exec(step)?.groups?.['paths'];
  return paths
    ?.split(/,? and |, /u)
    .map((path) => ({ tool: 'read_file', wanted: [[PATH, unquote(path) ?? path]] satisfies Wanted }));
}

function unquote(text: string | undefined): string | undefined {
  return text?.replace(/^(["'`])(?<inner>.*)\1$/su, '$<inner>');
}

function fill(tool: ToolSpec, wanted: Wanted): Record<string, string> {
  const { properties } = tool.parameters;
  const known = typeof properties === 'object' && properties !== null ? Object.keys(properties) : [];
  const entries = wanted.flatMap(([names, value]) => {
    const name = known.length === 0 ? names[0] : names.find((candidate) => known.includes(candidate));
    return name === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}
