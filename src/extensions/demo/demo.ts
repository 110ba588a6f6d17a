import type {
  ModelEvent,
  ModelMessage,
  ModelRequest,
  ModelToolCall,
  Provider,
  Usage,
} from '../../core/api-providers.ts';
import { cut, oneLine } from '../../core/api.ts';
import { understand } from './script.ts';

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>;

const WHO = 'I am a scripted demo, not an AI: I know a few fixed sentences and carry them out with the real tools.';
interface Sentence {
  /** The tool that it needs. */
  readonly tool: string;
  readonly sentence: string;
  /**
   * The roles that may do it in a group, where all are shown the tools of the most powerful; in a direct chat a person is
   * shown only what they may use.
   */
  readonly inGroup: readonly string[];
}

/** What works in a new workspace, in this order. */
const SENTENCES: readonly Sentence[] = [
  { tool: 'list_dir', sentence: '"list files"', inGroup: ['owner', 'trusted'] },
  { tool: 'read_file', sentence: '"read AGENTS.md"', inGroup: ['owner', 'trusted'] },
  { tool: 'write_file', sentence: '"write hello to notes.txt"', inGroup: ['owner', 'trusted'] },
  { tool: 'edit_file', sentence: 'then "replace hello by goodbye in notes.txt"', inGroup: ['owner', 'trusted'] },
  { tool: 'exec', sentence: '"run date"', inGroup: ['owner'] },
  { tool: 'memory_write', sentence: '"remember that I like tea"', inGroup: [] },
  { tool: 'cron', sentence: '"remind me in 1 minute to drink tea"', inGroup: ['owner', 'trusted'] },
];
const HOW_TO_LEAVE =
  'To talk to a real model, type /setup in the terminal, or set ANTHROPIC_API_KEY or OPENAI_API_KEY and start again.';

/** Answers without any model, by fixed patterns; the same request always gets the same answer. */
export function createDemoProvider(name = 'demo'): Provider {
  return {
    name,
    async *chat(request, { signal }) {
      if (signal.aborted) yield { type: 'error', kind: 'aborted', retryable: false, message: 'The demo was stopped.' };
      else yield* toEvents(request, answerTo(request));
    },
  };
}

interface DemoAnswer {
  readonly text: string;
  readonly calls: readonly ModelToolCall[];
}

function answerTo(request: ModelRequest): DemoAnswer {
  const { messages } = request;
  const tail = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1);
  const results = tail.filter((message) => message.role === 'tool');
  const said = tail
    .flatMap((message) => (message.role === 'user' ? [spokenText(message)] : []))
    .join('\n')
    .trim();
  const report = results.map(summarise).join('\n\n');
  if (said === '' && results.length > 0) return { text: introduced(report, messages), calls: [] };

  const plan = understand(said, request.tools);
  if (plan === undefined) return { text: introduced(paragraphs(report, help(request)), messages), calls: [] };
  const mayCall = request.toolChoice === 'auto';
  if (plan.calls.length === 0 || !mayCall) {
    const remarks = mayCall ? plan.remarks : ['I may not use tools just now.'];
    return { text: introduced(paragraphs(report, ...remarks), messages), calls: [] };
  }
  const before = messages.filter((message) => message.role === 'assistant').length;
  const calls = plan.calls.map((call, index) => ({
    id: `demo_${before}_${index}`,
    name: call.tool,
    arguments: JSON.stringify(call.arguments),
  }));
  return { text: paragraphs(report, ...plan.remarks), calls };
}

/** A person's words, without the context block that is put before them. */
function spokenText(message: Extract<ModelMessage, { role: 'user' }>): string {
  const texts = message.content.flatMap((part) => (part.type === 'text' ? [part.text.trim()] : []));
  return texts.filter((text) => !(text.startsWith('<context>') && text.endsWith('</context>'))).join('\n');
}

const SHOWN_LINES = 20;
const SHOWN_LENGTH = 1500;
const SHOWN_REASON = 600;
const HEADER = /^\[.*\]$/u;
const FACTS = / · \w+=.*$/u;

function summarise({ name, output, isError }: ToolMessage): string {
  const whole = output.trim();
  const [first = '', ...rest] = whole.split('\n');
  const hasHeader = HEADER.test(first);
  const body = hasHeader ? rest.join('\n').trim() : whole;
  if (isError) {
    const reason = oneLine(body === '' ? first : body, SHOWN_REASON);
    return `${name} did not work: ${reason === '' ? 'it gave no reason.' : reason}`;
  }
  const done = `Done: ${hasHeader ? fromHeader(first) : name}.`;
  if (body === '') return done;
  const shown = cut(body.split('\n').slice(0, SHOWN_LINES).join('\n'), SHOWN_LENGTH);
  const fence = shown.includes('```') ? '````' : '```';
  return `${done}\n${fence}\n${shown}\n${fence}${shown.length < body.length ? '\n(and more)' : ''}`;
}

/** What was done, from the first line of a result: its title without the facts for a model, of which only a failed exit counts. */
function fromHeader(header: string): string {
  const title = oneLine(header.slice(1, -1).replace(FACTS, ''), 200);
  const exitCode = / · exitCode=(\d+)/u.exec(header)?.[1] ?? '0';
  return exitCode === '0' ? title : `${title}, which ended with exit code ${exitCode}`;
}

/** Says first what is talking, when it has not yet been said in this conversation. */
function introduced(text: string, messages: readonly ModelMessage[]): string {
  const hasSpoken = messages.some(
    (message) => message.role === 'assistant' && message.content.some((part) => part.type === 'text'),
  );
  return hasSpoken ? text : paragraphs(`${WHO} ${HOW_TO_LEAVE}`, text);
}

function help(request: ModelRequest): string {
  const speaker = roleInGroup(request.messages);
  const offered = SENTENCES.filter(
    ({ tool, inGroup }) =>
      request.tools.some(({ name }) => name === tool) && (speaker === null || inGroup.includes(speaker)),
  );
  const sentences = [...offered.map(({ sentence }) => sentence), '"help"'];
  return `I understand ${sentences.join(', ')}.`;
}

/** The role of who spoke last, as the program's context block names it, in a group; null: in a direct chat. */
function roleInGroup(messages: readonly ModelMessage[]): string | null {
  const last = messages.findLast((message) => message.role === 'user');
  const block = last?.content.find((part) => part.type === 'text')?.text ?? '';
  if (!/^<context>\n(?:.*\n)*?chat: \S+ \(group\)$/mu.test(block)) return null;
  return /^from: .*\((\w+)\)$/mu.exec(block)?.[1] ?? '';
}

function paragraphs(...texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join('\n\n');
}

function* toEvents(request: ModelRequest, { text, calls }: DemoAnswer): Generator<ModelEvent> {
  if (text !== '') yield { type: 'text-delta', text };
  for (const [index, call] of calls.entries()) {
    yield { type: 'tool-call-delta', index, name: call.name, argumentsDelta: call.arguments };
    yield { type: 'tool-call', index, call };
  }
  const usage: Usage = {
    input: estimate(JSON.stringify([request.system, request.tools, request.messages])),
    cached: 0,
    cacheWrite: 0,
    output: estimate(text + calls.map((call) => call.name + call.arguments).join('')),
    reasoning: 0,
  };
  yield { type: 'usage', usage };
  const content = [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    ...calls.map((call) => ({ type: 'tool-call' as const, ...call })),
  ];
  const stopReason = calls.length > 0 ? 'tool-calls' : 'stop';
  yield { type: 'end', stopReason, response: { content, model: request.model, usage, scripted: true } };
}

const BYTES_PER_TOKEN = 3.6;

function estimate(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);
}
