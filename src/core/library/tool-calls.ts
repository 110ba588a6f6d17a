import type { OutboundEvent } from '../bus/messages.ts';
import type { TapeTurn } from '../session/turns.ts';
import type { RunToolCall } from './run.ts';

interface Seen {
  readonly name: string;
  readonly title: string;
  readonly isError: boolean;
  readonly problem: string | null;
  readonly durationMs: number;
}

/** Notes from the live events how long each call took and what it is called. */
export class CallTimes {
  readonly #monotonic: () => number;
  readonly #begun = new Map<string, number>();
  /** By call id, in the order in which they ended. */
  readonly #ended = new Map<string, Seen>();

  /** `monotonic`: milliseconds that only move forward. */
  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
  }

  /** Takes an event as it happens. */
  saw(event: OutboundEvent): void {
    if (event.type === 'tool-start') this.#begun.set(event.callId, this.#monotonic());
    if (event.type !== 'tool-end') return;
    const { callId, name, title, isError, refused, problem } = event;
    const now = this.#monotonic();
    const durationMs = Math.round(now - (this.#begun.get(callId) ?? now));
    this.#ended.set(callId, { name, title, isError, problem: refused ?? problem ?? null, durationMs });
  }

  of(callId: string): Seen | undefined {
    return this.#ended.get(callId);
  }

  /** The calls inside of a call, in order, with their numbers from 1. */
  within(callId: string): readonly (Seen & { readonly n: number })[] {
    const inner = [...this.#ended].filter(([id]) => id.startsWith(`${callId}.`));
    return inner
      .map(([id, seen]) => ({ ...seen, n: Number(id.slice(callId.length + 1)) }))
      .toSorted((a, b) => a.n - b.n);
  }
}

/** The calls of a turn on the tape, those inside of a batch after it. */
export function toolCallsOf({ toolCalls }: TapeTurn, times: CallTimes): readonly RunToolCall[] {
  return toolCalls.flatMap(({ asked: { callId, name, arguments: given }, result }): readonly RunToolCall[] => {
    const seen = times.of(callId);
    const args = parsed(given);
    const outer = {
      name: result?.name ?? name,
      args,
      ok: result !== undefined && !result.isError,
      title: seen?.title ?? name,
      problem: result?.problem ?? seen?.problem ?? null,
      durationMs: seen?.durationMs ?? 0,
    };
    const inner = times.within(callId).map(({ n, isError, ...part }) => ({
      name: part.name,
      args: innerArgs(args, n),
      ok: !isError,
      title: part.title,
      problem: part.problem,
      durationMs: part.durationMs,
    }));
    return [outer, ...inner];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The arguments of the `n`th call of a batch. */
function innerArgs(args: unknown, n: number): unknown {
  const calls: unknown = typeof args === 'object' && args !== null && 'calls' in args ? args.calls : undefined;
  const call: unknown = Array.isArray(calls) ? calls[n - 1] : undefined;
  return typeof call === 'object' && call !== null && 'arguments' in call ? call.arguments : {};
}
