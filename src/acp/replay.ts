import type { SessionUpdate } from '@agentclientprotocol/sdk';
import type { SessionEvent } from '../core/session/session-log.ts';
import { oneLine, cut } from '../core/util/text.ts';
import { kindOf } from './tool-kinds.ts';
import { text, type Step, type Updates } from './updates.ts';

const LONGEST_TITLE = 120;
/** Characters of a tool's result. */
const LONGEST_RESULT = 4_000;

/** A conversation as updates, oldest first; `updates` is told what the editor has then. What was taken back is left out. */
export function replayOf(events: readonly SessionEvent[], updates: Updates): readonly Step[] {
  const shown = events.filter(({ isTakenBack }) => isTakenBack !== true);
  const edits = new Set(
    shown.flatMap(({ kind, name = '', call }) => (kind === 'call' && kindOf(name) === 'edit' ? [call] : [])),
  );
  return shown.flatMap((event) =>
    replayed(event, updates).map((update) => {
      const { kind, turn, call, isError = false } = event;
      const isEdit = kind === 'result' && turn !== null && call !== undefined && !isError && edits.has(call);
      return isEdit ? { update, edited: { turn, call } } : { update };
    }),
  );
}

function replayed(event: SessionEvent, updates: Updates): readonly SessionUpdate[] {
  const { kind, turn, name = '', call = '', isError = false } = event;
  switch (kind) {
    case 'user':
      return [{ sessionUpdate: 'user_message_chunk', content: text(event.text) }];
    case 'assistant':
      if (turn !== null) updates.replayed(turn, { said: event.text });
      return [{ sessionUpdate: 'agent_message_chunk', content: text(event.text) }];
    case 'call': {
      if (turn !== null) updates.replayed(turn, { calls: call });
      const title = oneLine(`${name} ${event.text}`, LONGEST_TITLE);
      const rawInput = inputOf(event.text);
      return [
        { sessionUpdate: 'tool_call', toolCallId: call, title, kind: kindOf(name), status: 'in_progress', rawInput },
      ];
    }
    case 'result': {
      if (turn !== null) updates.replayed(turn, { ended: call });
      const shown = cut(event.text, LONGEST_RESULT);
      const content = [{ type: 'content' as const, content: text(shown) }];
      return [
        { sessionUpdate: 'tool_call_update', toolCallId: call, status: isError ? 'failed' : 'completed', content },
      ];
    }
    case 'mark':
      // Summaries and fresh starts stand between turns.
      if (turn === null) return [];
      updates.replayed(turn, { said: event.text });
      return [{ sessionUpdate: 'agent_message_chunk', content: text(event.text) }];
  }
}

function inputOf(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return { arguments: given };
  }
}
