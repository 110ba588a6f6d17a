import type { ModelApiRequest, Step } from './model-script.ts';

/**
 * What people ask for in a crash run, and what a model makes of it: each message has a number, which a command writes into
 * a file before the model answers it. Answers to some are so long that they are sent in two parts.
 */
const LONG_EVERY = 20;
const FILLER = 'la '.repeat(1_500);

export function request(n: number): string {
  return `please do number ${n}`;
}

/** The names of what a message asks for: its answer, and the end of a long one, which is a part of its own. */
export function asksFor(n: number): readonly string[] {
  return n % LONG_EVERY === 0 ? [`answer ${n}`, `end ${n}`] : [`answer ${n}`];
}

/** The names that a text answers, if it is nothing but answers or a part of them. */
export function answered(whole: string): readonly string[] {
  // One line names the commands that were ended or cut off, or the end of the text where it was made one line; a second one would be
  // none of an answer.
  const text = whole.replace(/\s+(?:Failed: |Cut off, so it may or may not be done: )[^\n]+$/u, '');
  return /^(?:(?:answer|end) \d+\.|la|\s)+$/u.test(text)
    ? Array.from(text.matchAll(/((?:answer|end) \d+)\./gu), ([, name = '']) => name)
    : [];
}

/** The names that a notice gives up. */
export function gaveUp(text: string): readonly string[] {
  return text.includes('gave up on it') ? numbersIn(text, /number (?<n>\d+)/gu).flatMap(asksFor) : [];
}

/** The numbers of which a text says anything. */
export function numbersNamed(text: string): readonly number[] {
  return numbersIn(text, /(?:number|answer) (?<n>\d+)/gu);
}

/** The numbers that commands write. */
export function numbersWritten(commands: string): readonly number[] {
  return numbersIn(commands, /echo (?<n>\d+)/gu);
}

/** Each number is first written to a file by a command, then answered. */
export function answerAfterWork(request: ModelApiRequest): Step {
  return answerAfter((n) => `echo ${n} >> effects.txt; sync effects.txt; sleep 0.02`, request);
}

/** Each number is first given to a command, which has `echo NUMBER >>` in it, then answered. */
export function answerAfter(command: (n: number) => string, { body }: ModelApiRequest): Step {
  const messages = body['messages'] as readonly { role: string; content: unknown; tool_calls?: unknown }[];
  const open = messages.slice(lastAnswer(messages) + 1);
  const text = JSON.stringify(open);
  const asked = numbersIn(text, /please do number (?<n>\d+)/gu);
  const called = numbersIn(text, /echo (?<n>\d+) >>/gu);
  const calls = asked.filter((n) => !called.includes(n));
  if (calls.length > 0) {
    return {
      delayMs: 15,
      calls: calls.map((n) => ({
        name: 'exec',
        arguments: { command: command(n) },
      })),
    };
  }
  return answer(asked, 15);
}

/** Each number is answered at once. */
export function answerAtOnce({ view }: ModelApiRequest): Step {
  return answer(numbersNamed(view.lastUserText), 10);
}

function answer(numbers: readonly number[], delayMs: number): Step {
  const text = numbers.map((n) => asksFor(n).join(`. ${FILLER}`).concat('.')).join(' ');
  return { delayMs, ...(text.includes(FILLER) ? {} : { eventDelayMs: 2 }), text };
}

/** The last assistant message that called nothing: everything before it is answered. */
function lastAnswer(messages: readonly { role: string; content: unknown; tool_calls?: unknown }[]): number {
  return messages.findLastIndex(
    ({ role, content, tool_calls }) =>
      role === 'assistant' && tool_calls === undefined && !JSON.stringify(content).includes('"tool_use"'),
  );
}

function numbersIn(text: string, pattern: RegExp): number[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => Number(match.groups?.['n'])))];
}
