import { oneLine } from '../util/text.ts';
import { waitHeader, waitIn } from './error-waits.ts';

/** What a thrown value says about a failed call, whichever SDK or layer threw it. */
export interface ErrorFacts {
  /** The HTTP status; undefined if there was no response. */
  readonly status: number | undefined;
  /** The status, or the one that the error's own type stands for. */
  readonly effectiveStatus: number | undefined;
  /** The server's message on one line; '' if there is none or it is a page of HTML. */
  readonly detail: string;
  /** The server's types, codes and whole message in lower case, to search for known phrases; a number as `code 1261`. */
  readonly haystack: string;
  /** How long the server asks to wait, in a header, a field or its message. */
  readonly retryAfterMs: number | undefined;
  /** How much the model reads, where the server names it, and how long the request was. */
  readonly window: NamedWindow | undefined;
}

/** Tokens that a refusal of a too long request names. */
export interface NamedWindow {
  readonly tokens: number;
  /** What the server counted in the request. @default it does not say */
  readonly asked?: number;
}

const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  invalid_request_error: 400,
  authentication_error: 401,
  billing_error: 402,
  insufficient_quota: 402,
  permission_error: 403,
  not_found_error: 404,
  timeout_error: 504,
  request_too_large: 413,
  rate_limit_error: 429,
  rate_limit_exceeded: 429,
  api_error: 500,
  server_error: 500,
  overloaded_error: 529,
};

const DETAIL_LENGTH = 300;
/** A message may quote the whole request. */
const HAYSTACK_LENGTH = 8_000;
/** Bodies nest: `error`, what a gateway quotes of the server behind it, a list of problems. */
const DEEPEST = 5;

/** Reads the facts of a thrown value. `now`: ms since 1970, from which dates are measured. */
export function readFacts(thrown: unknown, now: number): ErrorFacts {
  const status = httpStatus(field(thrown, 'status'));
  // OpenAI's SDK keeps what was under `error`, Anthropic's the whole body.
  const levels = levelsOf(field(thrown, 'error'));
  const said = wordsIn(levels[0]) || messageOf(thrown);
  const labels = [
    ...levels.flatMap((level) => ['type', 'code', 'status', 'param'].map((key) => field(level, key))),
    field(thrown, 'type'),
    field(thrown, 'code'),
  ].flatMap(labelOf);
  const quotas = levels.flatMap((level) => [
    ...(JSON.stringify(field(level, 'details')) ?? '').slice(0, HAYSTACK_LENGTH).matchAll(/"quotaId":"[^"]+"/gu),
  ]);
  const haystack = [...new Set(labels.map(asWords)), ...quotas.map(([quota]) => quota), said.slice(0, HAYSTACK_LENGTH)]
    .join(' ')
    .toLowerCase();
  return {
    status,
    effectiveStatus: status ?? labels.map(impliedStatus).find((implied) => implied !== undefined),
    detail: oneLine(said, DETAIL_LENGTH),
    haystack,
    retryAfterMs: waitHeader(field(thrown, 'headers'), now) ?? waitIn({ levels, said: haystack, now }),
    window: windowIn(levels, haystack),
  };
}

/** A body, and what it holds under `error` or Azure's `innererror`, as JSON in a string or as what a gateway quotes. */
function levelsOf(body: unknown): readonly unknown[] {
  const levels: unknown[] = [];
  for (let at = opened(body); at !== undefined && at !== null && levels.length < DEEPEST;) {
    levels.push(at);
    at = opened(field(field(at, 'metadata'), 'raw') ?? field(at, 'error') ?? field(at, 'innererror'));
  }
  return levels;
}

const WINDOW_WORDS = [
  /n_ctx['":]*|available context size|max_(?:model|seq)_len|model token limit|exceeds the limit/u,
  /(?:maximum|max) (?:context|model|prompt|allowed) (?:length|len|window)|maximum number of tokens allowed/u,
  /context (?:length|window|size|limit)|max_new_tokens.{0,3} must be <=|inputs.{0,3} must have less than/u,
]
  .map(({ source }) => source)
  .join('|');
/** After these words, but not as a part of a sum, or in front of “maximum”, or what a sum exceeds. */
const NAMED_WINDOW = new RegExp(
  String.raw`(?:${WINDOW_WORDS})(?: (?:of|is|was|limit|only))*[ :(=]{0,3}(?<before>\d{1,3}(?:,\d{3})+|\d{3,})(?![\d,]* ?\+)|(?:> ?|with )(?<after>\d{3,}) maximum|\d \+ \d+ > (?<sum>\d{3,})`,
  'u',
);
/** What servers counted in the prompt. */
const ASKED = new RegExp(
  [
    /(?:request|input) \((\d+) tokens\)|prompt is too long: (\d+) tokens|keep the first (\d+) tokens|n_keep:? ?\(?(\d+)/u,
    /(\d+) (?:in the messages|input tokens|tokens from the input)|resulted in (\d+) tokens|given: (\d+) .?inputs/u,
    /prompt \(?length:? (\d+)|prompt (?:contains|\()(?: ?)(\d+)|token count (?:of |\()(\d+)/u,
  ]
    .map(({ source }) => source)
    .join('|'),
  'u',
);

/** llama.cpp names both numbers in fields, others in their sentence. */
function windowIn(levels: readonly unknown[], said: string): NamedWindow | undefined {
  const named = (key: string): number | undefined =>
    levels.map((level) => field(level, key)).find((value) => typeof value === 'number' && Number.isInteger(value)) as
      | number
      | undefined;
  const { before, after, sum } = NAMED_WINDOW.exec(said)?.groups ?? {};
  const tokens = named('n_ctx') ?? Number((before ?? after ?? sum ?? '0').replaceAll(',', ''));
  if (tokens < 256) return undefined;
  const [, ...counts] = ASKED.exec(said) ?? [];
  const asked = named('n_prompt_tokens') ?? Number(counts.find((count) => count !== undefined) ?? 0);
  return asked > tokens ? { tokens, asked } : { tokens };
}

/** The first entry of a list, and the value of JSON in a string. */
function opened(value: unknown): unknown {
  if (Array.isArray(value)) return opened(value[0]);
  return typeof value === 'string' ? (parsed(value) ?? value) : value;
}

function parsed(text: string): unknown {
  if (!/^\s*[[{]/u.test(text)) return undefined;
  try {
    return opened(JSON.parse(text));
  } catch {
    return undefined;
  }
}

const WORD_FIELDS = ['message', 'detail', 'error', 'msg', 'errors', 'error_msg', 'status_msg', 'base_resp'];

/** The words for people in a body; '' if there are none. What a gateway quotes of the server behind it comes first. */
function wordsIn(value: unknown, depth = DEEPEST): string {
  if (depth === 0 || value === undefined || value === null) return '';
  if (typeof value === 'string') {
    const inner = parsed(value);
    return (inner === undefined ? '' : wordsIn(inner, depth - 1)) || (isHtml(value) ? '' : value);
  }
  if (Array.isArray(value)) {
    return value
      .slice(0, 3)
      .map((item) => wordsIn(item, depth - 1))
      .filter((words) => words !== '')
      .join('; ');
  }
  if (typeof value !== 'object') return '';
  const quoted = wordsIn(field(field(value, 'metadata'), 'raw'), depth - 1);
  if (quoted !== '') return quoted;
  for (const name of WORD_FIELDS) {
    const words = wordsIn(field(value, name), depth - 1);
    if (words !== '') return placeOf(value) + words;
  }
  return '';
}

/** Where in the request a problem of a validator lies: `body.stream_options: `. */
function placeOf(problem: object): string {
  const place = field(problem, 'loc');
  return Array.isArray(place) ? `${place.map(String).join('.')}: ` : '';
}

/** What the SDK made of a body that is not JSON, without the status that it puts in front. */
function messageOf(thrown: unknown): string {
  const message = field(thrown, 'message');
  if (typeof message !== 'string' || isHtml(message)) return '';
  return message.replace(/^\d{3} /u, '').replace(/^status code \(no body\)$/u, '');
}

function field(from: unknown, key: string): unknown {
  return typeof from === 'object' && from !== null ? Reflect.get(from, key) : undefined;
}

function labelOf(value: unknown): readonly string[] {
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  return [String(value)];
}

function asWords(label: string): string {
  return /^\d+$/u.test(label) ? `code ${label}` : label;
}

function impliedStatus(label: string): number | undefined {
  return Object.hasOwn(STATUS_OF_TYPE, label) ? STATUS_OF_TYPE[label] : httpStatus(label);
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === 'string' && /^\d{3}$/u.test(value) ? Number(value) : value;
  return typeof status === 'number' && status >= 400 && status < 600 ? status : undefined;
}

function isHtml(text: string): boolean {
  return /<(?:!doctype|html|head|body|title|center|h1)\b/iu.test(text);
}
