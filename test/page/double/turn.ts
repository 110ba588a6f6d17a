import type { DoubleGateway, LiveEvent } from './gateway.ts';
import { item } from './life.ts';

type EventFacts<Type extends LiveEvent['type']> = Omit<Extract<LiveEvent, { type: Type }>, keyof Base | 'type'>;
interface Base {
  readonly turnId: string;
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
  readonly sequence: number;
}

/** A turn that the test leads from its beginning to its end. */
export class Turn {
  readonly id: string;
  readonly #gateway: DoubleGateway;
  readonly #session: string;
  #text = '';
  #sequence = 0;

  constructor(gateway: DoubleGateway, session = 'web:main') {
    this.#gateway = gateway;
    this.#session = session;
    this.id = `turn-${Math.random().toString(36).slice(2)}`;
    const { id } = this;
    gateway.turns.set(id, {
      session,
      turn: id,
      startedAt: Date.now(),
      text: '',
      reasoning: '',
      tools: [],
      status: '',
    });
    this.#live('status', { text: '' });
  }

  /** Takes a message into its conversation, as the tape does when a turn begins. */
  take(text: string): void {
    const sources = this.#gateway.rows.filter((row) => row.text === text).map((row) => row.id);
    this.#gateway.happened(this.#session, item(0, 'user', text, { turn: this.id, sources }));
  }

  /** The answer so far. */
  say(text: string): void {
    this.#text = text;
    const turn = this.#gateway.turns.get(this.id);
    if (turn !== undefined) this.#gateway.turns.set(this.id, { ...turn, text });
    this.#live('text', { text });
  }

  tool(callId: string, name: string, title: string): void {
    this.#live('tool-start', { callId, name, title });
  }

  toolEnded(callId: string, name: string, title: string): void {
    this.#live('tool-end', { callId, name, title, isError: false });
    const turn = this.id;
    this.#gateway.happened(
      this.#session,
      item(0, 'call', JSON.stringify({ path: title }), { name, callId, turn }),
      item(0, 'result', `Result of ${title}`, { callId, turn }),
    );
  }

  end(outcome: 'answered' | 'stopped' = 'answered'): void {
    const { id } = this;
    if (this.#text !== '') this.#gateway.happened(this.#session, item(0, 'assistant', this.#text, { turn: id }));
    this.#gateway.turns.delete(id);
    this.#live('turn-end', {
      result: {
        outcome,
        text: this.#text,
        isError: false,
        model: null,
        usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0 },
        costUsd: null,
        durationMs: 0,
      },
      answers: [],
    } as unknown as EventFacts<'turn-end'>);
  }

  #live<Type extends LiveEvent['type']>(type: Type, facts: EventFacts<Type>): void {
    const [channel = '', chatId = ''] = this.#session.split(':');
    this.#sequence += 1;
    const event: unknown = {
      type,
      turnId: this.id,
      sessionKey: this.#session,
      channel,
      chatId,
      sequence: this.#sequence,
      ...facts,
    };
    this.#gateway.live(event as LiveEvent);
  }
}
