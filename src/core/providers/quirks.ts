import { createHash } from 'node:crypto';
import { EMPTY_ANSWER } from './transcript.ts';
import { perObject } from './wire-json.ts';

export type WireBody = Readonly<Record<string, unknown>>;
type Item = Readonly<Record<string, unknown>>;

/** A way in which a server differs from the API that it speaks: how it refuses a request, and what it accepts instead. */
interface Quirk {
  /** Whether this is the refusal; `said` holds the server's words and codes in lower case. */
  readonly refuses: (said: string) => boolean;
  /** The body without what was refused; the same object if there was nothing of it. `limit` is what `limitOf` returned, or 0. */
  readonly remedy: (body: WireBody, limit: number) => WireBody;
  /** Reads the number that the remedy needs. */
  readonly limitOf?: (said: string, body: WireBody) => number;
  /** What goes wrong belongs to one conversation, so later requests are sent as usual. @default false */
  readonly onlyOnce?: boolean;
  /** What the person loses by it, as one sentence. */
  readonly note?: (model: string) => string;
}

const REFUSED =
  /unsupported|(?:not|n't) support|unrecogni[sz]ed|unknown|unexpected|extra inputs|extra_forbidden|not (?:be )?(?:permitted|allowed|accepted|recognized|enabled)|additional propert|deprecated|forbidden|\binvalid\b|only .{0,40}(?:allowed|supported|accepted)/u;

/** Fields of a body that a request works without. */
const OPTIONAL_FIELDS = [
  'stream_options',
  'temperature',
  'reasoning_effort',
  'reasoning_split',
  'reasoning',
  'enable_thinking',
  'thinking',
  'think',
  'output_config',
  'store',
  'max_output_tokens',
] as const;
const OUTPUT_LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'] as const;
/** Every model can write this much; for APIs that require a limit and servers that don't name theirs. */
const MODEST_OUTPUT = 4096;
const LEAST_OUTPUT = 16;

/** Whether the text refuses a field with this name. What a server quotes of the request (`'input': …`) doesn't count. */
function refusesField(said: string, name: string): boolean {
  const text = said.replaceAll(/['"]input['"]:.*?(?=\}, ?\{|$)/gu, '');
  return REFUSED.test(text) && new RegExp(`(?<![\\w-])${name}(?![\\w-])`, 'u').test(text);
}

function without(body: WireBody, ...names: readonly string[]): WireBody {
  if (!names.some((name) => name in body)) return body;
  return Object.fromEntries(Object.entries(body).filter(([name]) => !names.includes(name)));
}

function leftOut(name: (typeof OPTIONAL_FIELDS)[number]): Quirk {
  return { refuses: (said) => refusesField(said, name), remedy: (body) => without(body, name) };
}

function renamed(from: string, to: string): Quirk {
  return {
    refuses: (said) => refusesField(said, from),
    remedy: (body) => (from in body ? { ...without(body, from), [to]: body[from] } : body),
  };
}

function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function itemsOf(value: unknown): readonly Item[] {
  return Array.isArray(value) ? value.filter(isItem) : [];
}

/** The body with another list of messages; the same body if `change` returned each of them. */
function withMessages(body: WireBody, change: (messages: readonly Item[]) => readonly Item[]): WireBody {
  const before = itemsOf(body['messages']);
  const after = change(before);
  const isSame = after.length === before.length && after.every((message, at) => message === before[at]);
  return isSame ? body : { ...body, messages: after };
}

const withoutReasoning = perObject((message: Item) => without(message, 'reasoning', 'reasoning_content'));

/** Gemini's signatures, which other servers don't know. */
const withoutExtras = perObject((message: Item): Item => {
  const calls = itemsOf(message['tool_calls']);
  if (!calls.some((call) => 'extra_content' in call)) return message;
  return { ...message, tool_calls: calls.map((call) => without(call, 'extra_content')) };
});

const withoutThinking = perObject((message: Item): Item => {
  const blocks = itemsOf(message['content']);
  const kept = blocks.filter(({ type }) => type !== 'thinking' && type !== 'redacted_thinking');
  if (kept.length === blocks.length) return message;
  return { ...message, content: kept.length > 0 ? kept : [{ type: 'text', text: EMPTY_ANSWER }] };
});

/** Names of the fields that ask a model to think. */
const THINKING_FIELDS = ['reasoning_effort', 'reasoning', 'enable_thinking', 'thinking', 'think'] as const;

const withText = perObject((message: Item): Item =>
  message['content'] === null ? { ...message, content: '' } : message,
);

const withWords = perObject((message: Item): Item => {
  const { content } = message;
  return content === null || content === '' ? { ...message, content: EMPTY_ANSWER } : message;
});

const asSystem = perObject((message: Item): Item =>
  message['role'] === 'developer' ? { ...message, role: 'system' } : message,
);

/** The system prompt in front of the first user message. */
function systemAsUser(messages: readonly Item[]): readonly Item[] {
  const isSystem = ({ role }: Item): boolean => role === 'system' || role === 'developer';
  const text = messages.filter(isSystem).map(({ content }) => content);
  const rest = messages.filter((message) => !isSystem(message));
  if (text.length === 0) return messages;
  const [first] = rest;
  const prompt: Item = { role: 'user', content: text.join('\n\n') };
  return first === undefined || first['role'] !== 'user' ? [prompt, ...rest] : joinedRoles([prompt, ...rest]);
}

const JOINED: ReadonlySet<unknown> = new Set(['user', 'assistant']);

/** Messages in which the roles alternate: neighbours of one role are joined, and an answer stands after tool results. */
function joinedRoles(messages: readonly Item[]): readonly Item[] {
  const joined: Item[] = [];
  for (const message of messages) {
    const last = joined.at(-1);
    if (last?.['role'] === 'tool' && message['role'] === 'user') {
      joined.push({ role: 'assistant', content: EMPTY_ANSWER });
    }
    const hasCalls = [last, message].some((one) => itemsOf(one?.['tool_calls']).length > 0);
    const isSame = last !== undefined && last['role'] === message['role'] && JOINED.has(last['role']) && !hasCalls;
    if (isSame) joined.splice(-1, 1, { ...last, content: together(last['content'], message['content']) });
    else joined.push(message);
  }
  return joined;
}

function together(a: unknown, b: unknown): unknown {
  if (typeof a === 'string' && typeof b === 'string') return `${a}\n\n${b}`;
  const parts = (content: unknown): readonly unknown[] =>
    Array.isArray(content) ? content : [{ type: 'text', text: content }];
  return [...parts(a), ...parts(b)];
}

/** An id of nine letters and digits, always the same for the same id. */
function nineLetters(id: unknown): string {
  return createHash('sha256').update(String(id)).digest('hex').slice(0, 9);
}

const withShortIds = perObject((message: Item): Item => {
  const id = message['tool_call_id'];
  const calls = itemsOf(message['tool_calls']);
  if (id === undefined && calls.length === 0) return message;
  return {
    ...message,
    ...(id === undefined ? {} : { tool_call_id: nineLetters(id) }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map((call) => ({ ...call, id: nineLetters(call['id']) })) }),
  };
});

/** Each call of an answer in a message of its own, with its result behind it. */
function oneCallPerMessage(messages: readonly Item[]): readonly Item[] {
  const split: Item[] = [];
  for (let at = 0; at < messages.length;) {
    const message = messages[at] ?? {};
    const calls = itemsOf(message['tool_calls']);
    at += 1;
    if (calls.length < 2) {
      split.push(message);
      continue;
    }
    const from = at;
    while (messages[at]?.['role'] === 'tool') at += 1;
    const results = messages.slice(from, at);
    for (const [n, call] of calls.entries()) {
      split.push(
        n === 0 ? { ...message, tool_calls: [call] } : { role: 'assistant', content: null, tool_calls: [call] },
      );
      split.push(...results.filter((result) => result['tool_call_id'] === call['id']));
    }
  }
  return split;
}

/** What was called and what came back as text, for templates that know neither. */
function roundsAsText(messages: readonly Item[]): readonly Item[] {
  const hasRounds = messages.some(({ role, tool_calls: calls }) => role === 'tool' || itemsOf(calls).length > 0);
  return hasRounds ? joinedRoles(messages.map(roundAsText)) : messages;
}

const roundAsText = perObject((message: Item): Item => {
  if (message['role'] === 'tool') return { role: 'user', content: `[result]\n${String(message['content'])}` };
  const calls = itemsOf(message['tool_calls']).map(({ function: called }) =>
    isItem(called) ? `[called ${String(called['name'])} with ${String(called['arguments'])}]` : '',
  );
  if (calls.length === 0) return message;
  const text = typeof message['content'] === 'string' ? [message['content']] : [];
  return { ...without(message, 'tool_calls'), content: [...text, ...calls].join('\n') };
});

/** The largest number below what was asked for: servers name their limit, the request's value, and little else. */
function namedLimit(said: string, body: WireBody): number {
  const asked = Math.max(...OUTPUT_LIMITS.map((name) => Number(body[name] ?? 0)));
  const { model } = body;
  const words = said.replaceAll(/\bcode:? \d+/gu, ' ');
  const text = typeof model === 'string' && model !== '' ? words.replaceAll(model.toLowerCase(), ' ') : words;
  const limits = [
    ...text.matchAll(/(?<![\w.<-])(?<count>\d{1,3}(?:,\d{3})+|\d+)(?<open>\)| \(exclusive\))?/gu),
  ].flatMap(({ groups = {} }) => {
    const count = Number(groups['count']?.replaceAll(',', '')) - (groups['open'] === undefined ? 0 : 1);
    return count >= LEAST_OUTPUT && count < asked ? [count] : [];
  });
  return Math.max(0, ...limits);
}

function withFewerTokens(body: WireBody, limit: number): WireBody {
  const name = OUTPUT_LIMITS.find((one) => one in body);
  if (name === undefined) return body;
  // Anthropic's API, recognised by the system prompt beside the messages, requires a limit.
  const isRequired = name === 'max_tokens' && ('system' in body || 'thinking' in body);
  const most = limit > 0 ? limit : isRequired ? MODEST_OUTPUT : 0;
  if (most === 0) return without(body, name);
  return Number(body[name]) > most ? { ...body, [name]: most } : body;
}

const isTooMuchOutput = (said: string): boolean =>
  /max[_ ](?:completion[_ ]|output[_ ]|new[_ ])?tokens|(?:output|completion) tokens/u.test(said) &&
  /too (?:large|high|big|many)|exceed|at most|maximum|less than|<=|range|above|larger|up to|> ?\d/u.test(said) &&
  !/maximum context|context (?:length|limit|window|size)|(?:prompt|input) (?:token|length)|inputs.{0,3} tokens \+|afford/u.test(
    said,
  );

const isAlternation = (said: string): boolean =>
  /roles? (?:must|should) alternate|must alternate between|unexpected role '\w+' after role/u.test(said);

const isNoChoice = ({ tool_choice: choice }: WireBody): boolean =>
  choice === 'none' || (isItem(choice) && choice['type'] === 'none');

const isNoTools = (said: string): boolean =>
  /(?:not|n't) support (?:the use of |any )?(?:tool|function)|(?:tools?|functions?)(?:[ _-]?(?:call(?:s|ing)?|use))? (?:is|are) not (?:supported|enabled|available|allowed)|support tool use|enable-auto-tool-choice|tools? param requires --jinja|cannot use tools|(?:argument supplied|parameter|field)s?:? [[{]?['"`]?tools['"`]?(?![\w.[])|(?:^|\.|\/| )tools: extra inputs/u.test(
    said,
  );

/**
 * What servers are known to refuse. The first row that matches a refusal and changes the body is applied, and the request
 * repeated; more than one may apply to a model. A new server needs a row here and one in the test of this table.
 */
const QUIRKS = {
  'fewer output tokens': { refuses: isTooMuchOutput, remedy: withFewerTokens, limitOf: namedLimit },
  'max_completion_tokens for max_tokens': renamed('max_tokens', 'max_completion_tokens'),
  'max_tokens for max_completion_tokens': renamed('max_completion_tokens', 'max_tokens'),
  'no tools': {
    refuses: isNoTools,
    remedy: (body) => without(body, 'tools', 'tool_choice'),
    note: (model) =>
      `The model ${model} can't use tools here, so it can only talk: it doesn't read files, search or remember anything on its own. Choose one that can with /model.`,
  },
  'no forced tool call': {
    refuses: (said) => /tool[_ ]?choice/u.test(said),
    remedy: (body) => (isNoChoice(body) ? body : without(body, 'tool_choice')),
  },
  'no tool_choice none': {
    refuses: (said) => /tool[_ ]?choice/u.test(said),
    remedy: (body) => (isNoChoice(body) ? without(body, 'tool_choice') : body),
  },
  'no extra_content': {
    refuses: (said) => refusesField(said, 'extra_content'),
    remedy: (body) => withMessages(body, (messages) => messages.map(withoutExtras)),
  },
  'no reasoning in earlier answers': {
    refuses: (said) => refusesField(said, '(?:reasoning|reasoning_content)'),
    remedy: (body) => withMessages(body, (messages) => messages.map(withoutReasoning)),
  },
  'nothing about thinking': {
    refuses: (said) => /(?:not|n't) support (?:thinking|reasoning)(?!\w)|\bthink value/u.test(said),
    remedy: (body) => without(body, ...THINKING_FIELDS),
  },
  'no thinking in earlier answers': {
    refuses: (said) =>
      /signature/u.test(said)
        ? /thinking|invalid|valid/u.test(said)
        : /thinking.{0,60}block|found ['"`]?thinking/u.test(said),
    remedy: (body) => {
      const bare = withMessages(body, (messages) => messages.map(withoutThinking));
      // An answer that goes on after a tool call must not think if its beginning is gone.
      return bare === body ? body : without(bare, 'thinking', 'output_config');
    },
    onlyOnce: true,
  },
  'no reasoning items': {
    refuses: (said) =>
      /encrypted.{0,3}content.{0,60}(?:verif|decrypt|invalid|pars)|invalid_encrypted_content|of type ['"`]?reasoning/u.test(
        said,
      ),
    remedy: (body) => {
      const input = itemsOf(body['input']);
      const kept = input.filter(({ type }) => type !== 'reasoning');
      return kept.length === input.length ? body : { ...body, input: kept };
    },
    onlyOnce: true,
  },
  'no include': {
    refuses: (said) => refusesField(said, 'include') || /encrypted content is not supported/u.test(said),
    remedy: (body) => without(body, 'include'),
  },
  'system for developer': {
    refuses: (said) =>
      /developer|property ['"`]?role/u.test(said) && /role|one of|invalid|un(?:known|supported|expected)/u.test(said),
    remedy: (body) => withMessages(body, (messages) => messages.map(asSystem)),
  },
  'system prompt as user': {
    refuses: (said) =>
      /system (?:role|prompt|message|instruction)s? (?:is |are )?not (?:supported|allowed|enabled)|(?:not|n't) support ['"`]?(?:the )?(?:system|developer)|only user(?:,| and) (?:assistant|model)(?! and system)|developer instruction is not enabled|(?:unknown|unsupported|unexpected|invalid)(?: message)? role:? ['"`]?system/u.test(
        said,
      ),
    remedy: (body) => withMessages(body, systemAsUser),
  },
  'call ids of nine letters': {
    refuses: (said) => /tool call ids? .{0,160}length (?:of )?9|[a-z]0-9.{0,20}length of 9/u.test(said),
    remedy: (body) => withMessages(body, (messages) => messages.map(withShortIds)),
  },
  'one call per message': {
    refuses: (said) => /single tool-?calls? at once|only (?:one|a single) tool call|parallel tool calls/u.test(said),
    remedy: (body) => withMessages(body, oneCallPerMessage),
  },
  'alternating roles': {
    refuses: isAlternation,
    remedy: (body) => withMessages(body, joinedRoles),
  },
  'tool calls as text': {
    // Where alternating roles were refused, too, the template doesn't know the role of a result.
    refuses: (said) =>
      isAlternation(said) ||
      /(?:unknown|unsupported|unexpected|invalid)(?: message)? role:? ['"`]?tool|tool role not supported|only user(?:,| and) (?:assistant|model)|expects the .?tools=|without .?tools=/u.test(
        said,
      ),
    remedy: (body) => withMessages(body, roundsAsText),
  },
  'empty text for null': {
    refuses: (said) =>
      /nonetype|nullvalue|<nil>|missing field [`'"]?content|content\W.{0,60}(?:must be a string|valid string|is required|(?:must|can) ?not be null)/u.test(
        said,
      ),
    remedy: (body) => withMessages(body, (messages) => messages.map(withText)),
  },
  'words for empty content': {
    refuses: (said) => /content\W.{0,60}(?:not (?:be )?empty|non-?empty)|empty content/u.test(said),
    remedy: (body) => withMessages(body, (messages) => messages.map(withWords)),
  },
} satisfies Record<string, Quirk>;

const ROWS: ReadonlyMap<string, Quirk> = new Map<string, Quirk>([
  ...Object.entries<Quirk>(QUIRKS),
  ...OPTIONAL_FIELDS.map((name): [string, Quirk] => [`no ${name}`, leftOut(name)]),
]);

const TOOL_QUIRK = 'no tool ';

function nameOfTool({ name, function: inner }: Item): string {
  const own = isItem(inner) ? inner['name'] : name;
  return typeof own === 'string' ? own : '';
}

/** A server refuses the definition of this tool alone. */
function withoutTool(refused: string): Quirk {
  return {
    refuses: (said) => said.includes(refused.toLowerCase()),
    remedy: (body) => {
      const tools = itemsOf(body['tools']);
      const kept = tools.filter((tool) => nameOfTool(tool) !== refused);
      if (kept.length === tools.length) return body;
      if (kept.length === 0) return without(body, 'tools', 'tool_choice');
      const choice = body['tool_choice'];
      const isForced = isItem(choice) && nameOfTool(choice) === refused;
      return { ...(isForced ? without(body, 'tool_choice') : body), tools: kept };
    },
    note: (model) =>
      `The tool ${refused} is switched off for the model ${model}, because its server doesn't accept the tool's definition.`,
  };
}

/** What is said of the tool calls in an answer or a conversation, not of a tool's definition. */
const OF_CALLS = /tool call validation|tool_use_failed|failed_generation|failed to call|did ?n[o']t match|tool_calls/u;
const OF_DEFINITIONS =
  /schema|parameters|propert|function_declarations|functiondeclarations|toolspec|custom|\bfunction\b/u;
/** `tools[3].function`, `tools.3.custom`, `('body', 'tools', 3, …)`; Gemini has all functions in one tool. */
const TOOL_INDEX =
  /(?:function_?declarations|(?<![\w-])tools)['"\])},.\s[(]{1,4}(?<index>\d+)(?!.*function_?declarations\W{1,4}\d)/su;
/** SGLang's. */
const TOOL_NUMBER = /\btool (?<index>\d+) function/u;

/** The tool whose definition is refused, by its name or its place in the list; undefined: none is named. */
function refusedTool(said: string, body: WireBody): string | undefined {
  if (OF_CALLS.test(said) || !OF_DEFINITIONS.test(said)) return undefined;
  const names = itemsOf(body['tools']).map(nameOfTool);
  const named = names.find((name) => {
    const word = RegExp.escape(name.toLowerCase());
    return new RegExp(
      `(?:function|tool)(?: name| named| declaration| definition)?(?: schema)?(?: for| of)?:? (?:function |tool )?['"\`]?${word}(?![\\w-])`,
      'u',
    ).test(said);
  });
  const { index = -1 } = (TOOL_INDEX.exec(said) ?? TOOL_NUMBER.exec(said))?.groups ?? {};
  return (named ?? names[Number(index)]) || undefined;
}

function rowOf(name: string): Quirk | undefined {
  return name.startsWith(TOOL_QUIRK) ? withoutTool(name.slice(TOOL_QUIRK.length)) : ROWS.get(name);
}

/** A quirk that a server has shown, as it is recorded: its name in the table, with its limit where it has one (`name=8192`). */
export type KnownQuirk = string;

const ORDER: ReadonlyMap<string, number> = new Map([...ROWS.keys()].map((name, at) => [name, at]));

/**
 * The body as a server with these quirks accepts it, changed in the order of the table: a later row takes what an earlier one
 * leaves. Unknown quirks, of another version, change nothing.
 */
export function withQuirks(body: WireBody, quirks: readonly KnownQuirk[]): WireBody {
  const place = (quirk: KnownQuirk): number => ORDER.get(nameOfQuirk(quirk)) ?? -1;
  const inOrder = quirks.toSorted((a, b) => place(a) - place(b));
  return inOrder.reduce((changed, quirk) => {
    const [name, limit] = partsOf(quirk);
    return rowOf(name)?.remedy(changed, limit) ?? changed;
  }, body);
}

function partsOf(quirk: KnownQuirk): readonly [string, number] {
  const [name = '', limit = '0'] = quirk.split('=');
  return [name, Number(limit)];
}

/** Whether two are the same row of the table, perhaps with another limit. */
export function isSameQuirk(a: KnownQuirk, b: KnownQuirk): boolean {
  return partsOf(a)[0] === partsOf(b)[0];
}

/** What the person loses by a quirk, as one sentence, or null for nothing. */
export function quirkNote(quirk: KnownQuirk, model: string): string | null {
  return rowOf(partsOf(quirk)[0])?.note?.(model) ?? null;
}

/** The quirk behind a refusal of this body; undefined if it is none that is known or if its remedy changes nothing. */
export function quirkBehind(said: string, body: WireBody): KnownQuirk | undefined {
  const tool = refusedTool(said, body);
  if (tool !== undefined) return `${TOOL_QUIRK}${tool}`;
  for (const [name, { refuses, remedy, limitOf }] of ROWS) {
    if (!refuses(said)) continue;
    const limit = limitOf?.(said, body) ?? 0;
    if (remedy(body, limit) !== body) return limit > 0 ? `${name}=${limit}` : name;
  }
  return undefined;
}

/** The row of the table that a quirk is. */
export function nameOfQuirk(quirk: KnownQuirk): string {
  return partsOf(quirk)[0];
}

/** Whether a quirk belongs to one conversation, so that later requests are sent as usual. */
export function isForOneCall(quirk: KnownQuirk): boolean {
  return rowOf(nameOfQuirk(quirk))?.onlyOnce === true;
}
