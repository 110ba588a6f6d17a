import type { SessionUpdate, ToolCallContent } from '@agentclientprotocol/sdk';
import type { AttachedMessage, OutboundEvent } from '../core/gateway/assistant-port.ts';
import { kindOf } from './tool-kinds.ts';

/** An update for the editor; with `edited`, the files that this call changed belong to it. */
export interface Step {
  readonly update: SessionUpdate;
  readonly edited?: { readonly turn: string; readonly call: string };
}

/** What of a turn the editor has. */
interface Shown {
  /** Texts that are finished, as they were said. */
  readonly said: string[];
  /** The text and the thoughts that grow now. */
  text: string;
  thought: string;
  /** Number of the message that grows. */
  message: number;
  readonly calls: Set<string>;
  readonly ended: Set<string>;
}

const MOST_TURNS = 50;

/**
 * Makes updates for an editor of the events of a conversation. Events say all of a text so far, updates what is new of
 * it; what the editor has already, also from a replay, is not said again.
 */
export class Updates {
  readonly #turns = new Map<string, Shown>();

  /** What a replay showed of a turn. */
  replayed(
    turn: string,
    { said, calls, ended }: { readonly said?: string; readonly calls?: string; readonly ended?: string },
  ): void {
    const shown = this.#of(turn);
    if (said !== undefined) this.#finish(shown, said);
    if (calls !== undefined) shown.calls.add(calls);
    if (ended !== undefined) shown.ended.add(ended);
  }

  event(event: OutboundEvent): readonly Step[] {
    const shown = this.#of(event.turnId);
    switch (event.type) {
      case 'text':
        return this.#text(event.turnId, shown, event.text);
      case 'reasoning': {
        const { thought } = shown;
        shown.thought = event.text;
        const grown = event.text.startsWith(thought) ? event.text.slice(thought.length) : event.text;
        return grown === '' ? [] : [{ update: { sessionUpdate: 'agent_thought_chunk', content: text(grown) } }];
      }
      case 'tool-start': {
        this.#endText(shown);
        if (shown.calls.has(event.callId)) return [];
        shown.calls.add(event.callId);
        const { callId: toolCallId, title, name, files = [] } = event;
        const locations = files.map((path) => ({ path }));
        return [
          {
            update: {
              sessionUpdate: 'tool_call',
              toolCallId,
              title,
              kind: kindOf(name),
              status: 'in_progress',
              locations,
            },
          },
        ];
      }
      case 'tool-end':
        return this.#toolEnd(shown, event);
      case 'turn-end': {
        const { outcome, text: answer } = event.result;
        const steps = outcome === 'stopped' ? [] : this.#text(event.turnId, shown, answer);
        this.#endText(shown);
        return steps;
      }
      case 'status':
      case 'typing':
        return [];
    }
  }

  /** A message that was kept for the conversation; nothing of it if the editor has it. */
  message({ text: said, turnId, from }: Pick<AttachedMessage, 'text' | 'turnId' | 'from'>): readonly Step[] {
    if (said.trim() === '') return [];
    if (turnId !== undefined && from === undefined) {
      const steps = this.#text(turnId, this.#of(turnId), said);
      this.#endText(this.#of(turnId));
      return steps;
    }
    const origin = from === undefined ? '' : `From ${from}:\n\n`;
    return [{ update: { sessionUpdate: 'agent_message_chunk', content: text(`${origin}${said}\n\n`) } }];
  }

  /** `whole` is a text from its beginning to where it is now. */
  #text(turn: string, shown: Shown, whole: string): readonly Step[] {
    if (whole.trim() === '' || shown.text.startsWith(whole) || shown.said.includes(whole.trim())) return [];
    const grows = shown.text !== '' && whole.startsWith(shown.text);
    if (!grows) this.#endText(shown);
    const added = grows ? whole.slice(shown.text.length) : `${shown.said.length > 0 ? '\n\n' : ''}${whole}`;
    shown.text = whole;
    const messageId = `${turn}:${shown.message}`;
    return [{ update: { sessionUpdate: 'agent_message_chunk', messageId, content: text(added) } }];
  }

  #toolEnd(shown: Shown, event: Extract<OutboundEvent, { type: 'tool-end' }>): readonly Step[] {
    if (shown.ended.has(event.callId)) return [];
    shown.ended.add(event.callId);
    const { callId: toolCallId, title, isError, refused, problem, diff, turnId } = event;
    const why = refused ?? problem;
    const content: ToolCallContent[] = why === undefined ? [] : [{ type: 'content', content: text(why) }];
    const update: SessionUpdate = {
      sessionUpdate: 'tool_call_update',
      toolCallId,
      title,
      status: isError ? 'failed' : 'completed',
      ...(content.length === 0 ? {} : { content }),
    };
    return [diff === undefined ? { update } : { update, edited: { turn: turnId, call: toolCallId } }];
  }

  #endText(shown: Shown): void {
    if (shown.text !== '') this.#finish(shown, shown.text);
    shown.thought = '';
  }

  #finish(shown: Shown, said: string): void {
    shown.said.push(said.trim());
    shown.text = '';
    shown.message += 1;
  }

  #of(turn: string): Shown {
    const known = this.#turns.get(turn);
    if (known !== undefined) return known;
    const made: Shown = { said: [], text: '', thought: '', message: 0, calls: new Set(), ended: new Set() };
    this.#turns.set(turn, made);
    const [oldest] = this.#turns.keys();
    if (this.#turns.size > MOST_TURNS && oldest !== undefined) this.#turns.delete(oldest);
    return made;
  }
}

/** A block of text. */
export function text(words: string): { readonly type: 'text'; readonly text: string } {
  return { type: 'text', text: words };
}
