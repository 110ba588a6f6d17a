import type { OutboundEvent } from '../../bus/messages.ts';
import type { RunningTool, RunningTurn } from '../http/wire.ts';

const MOST_TURNS = 200;
const MOST_TOOLS = 50;

/** What is known of the turns that run, from their live events: the newest of each kind. Nothing of it is stored. */
export class RunningTurns {
  readonly #turns = new Map<string, RunningTurn>();
  readonly #now: () => number;

  /** `continued`: turns of an earlier process that go on in this one and have said nothing here yet. */
  constructor(now: () => number, continued: readonly Pick<RunningTurn, 'session' | 'turn'>[]) {
    this.#now = now;
    for (const { session, turn } of continued) this.#turns.set(turn, this.#begun(session, turn));
  }

  list(): readonly RunningTurn[] {
    return [...this.#turns.values()];
  }

  take(event: OutboundEvent): void {
    const { turnId, sessionKey } = event;
    if (event.type === 'turn-end') {
      this.#turns.delete(turnId);
      return;
    }
    const known = this.#turns.get(turnId) ?? this.#begun(sessionKey, turnId);
    this.#turns.set(turnId, this.#after(known, event));
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > MOST_TURNS && oldest !== undefined) this.#turns.delete(oldest);
  }

  #begun(session: string, turn: string): RunningTurn {
    return { session, turn, startedAt: this.#now(), text: '', reasoning: '', tools: [], status: '' };
  }

  #after(turn: RunningTurn, event: Exclude<OutboundEvent, { type: 'turn-end' }>): RunningTurn {
    switch (event.type) {
      case 'text':
        return { ...turn, text: event.text };
      case 'reasoning':
        return { ...turn, reasoning: event.text };
      case 'status':
        return { ...turn, status: event.text };
      case 'typing':
        return turn;
      case 'tool-start': {
        const { callId, name, title } = event;
        const tool: RunningTool = { callId, name, title, state: 'running', startedAt: this.#now() };
        return { ...turn, tools: [...without(turn.tools, callId), tool].slice(-MOST_TOOLS) };
      }
      case 'tool-end': {
        const { callId, name, title, isError, refused, problem, diff } = event;
        const startedAt = turn.tools.find((tool) => tool.callId === callId)?.startedAt ?? this.#now();
        const why = refused ?? problem;
        const tool: RunningTool = {
          callId,
          name,
          title,
          state: isError ? 'failed' : 'done',
          startedAt,
          durationMs: this.#now() - startedAt,
          ...(diff === undefined ? {} : { diff }),
          ...(why === undefined ? {} : { problem: why }),
        };
        return { ...turn, tools: [...without(turn.tools, callId), tool].slice(-MOST_TOOLS) };
      }
    }
  }
}

function without(tools: readonly RunningTool[], callId: string): readonly RunningTool[] {
  return tools.filter((tool) => tool.callId !== callId);
}
