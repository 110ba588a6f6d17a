import type { LiveTool } from '../bus/live-turn.ts';
import type { TapeTurn } from '../session/turns.ts';
import type { RunToolCall } from './run.ts';

/**
 * The calls of a turn on the tape, those inside of a batch after it. `tools`: as its live events told them, which know how
 * long each call took and what it is called.
 */
export function toolCallsOf({ toolCalls }: TapeTurn, tools: readonly LiveTool[]): readonly RunToolCall[] {
  const ended = tools.filter(({ state }) => state !== 'running');
  return toolCalls.flatMap(({ asked: { callId, name, arguments: given }, result }): readonly RunToolCall[] => {
    const live = ended.find((tool) => tool.callId === callId);
    const args = parsed(given);
    const outer = {
      name: result?.name ?? name,
      args,
      ok: result !== undefined && !result.isError,
      title: live?.title ?? name,
      problem: result?.problem ?? live?.problem ?? null,
      durationMs: Math.round(live?.durationMs ?? 0),
    };
    const inner = ended
      .filter((tool) => tool.callId.startsWith(`${callId}.`))
      .map((tool) => ({ ...tool, n: Number(tool.callId.slice(callId.length + 1)) }))
      .toSorted((a, b) => a.n - b.n)
      .map(({ n, name: innerName, title, state, problem = null, durationMs = 0 }) => ({
        name: innerName,
        args: innerArgs(args, n),
        ok: state === 'done',
        title,
        problem,
        durationMs: Math.round(durationMs),
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
