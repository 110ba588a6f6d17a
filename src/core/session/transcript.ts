import type { AssistantPart, ModelMessage, ToolCallPart } from '../providers/provider.ts';

export interface HistoryMessage {
  /** Id of its tape entry. A message that the program added, such as a missing result, has the id of the entry that needed it. */
  readonly entryId: string;
  readonly turn: string | null;
  readonly message: ModelMessage;
}

type RoleOf<Role extends ModelMessage['role']> = HistoryMessage & {
  readonly message: Extract<ModelMessage, { role: Role }>;
};

/** Stands in for a result that is not on the tape. */
const MISSING_RESULT = 'interrupted: this call has no recorded result; it may or may not have taken effect';
/** Stands in for a user message that is not on the tape. */
const MISSING_USER = '[The message that led to this is not in the record.]';
const EMPTY_USER = '[empty message]';

/**
 * Builds a transcript that every model API accepts, from any entries: it begins with a user message; no assistant message
 * is empty or follows another directly; each call has exactly one result, directly after its message and in call order. A
 * result that comes after its turn continued or ended is ignored, so later entries never change earlier messages.
 */
export class Transcript {
  readonly #settled: HistoryMessage[] = [];
  readonly #callIds = new Set<string>();
  #open: OpenCalls | undefined;

  user(item: RoleOf<'user'>): void {
    const content = item.message.content.filter((part) => part.type !== 'text' || part.text.trim() !== '');
    const message = { role: 'user' as const, content: content.length > 0 ? content : textContent(EMPTY_USER) };
    // The message joined a running turn: the results of the open calls come first.
    if (this.#open?.turn === item.turn) this.#open.steered.push({ ...item, message });
    else {
      this.#settle();
      this.#settled.push({ ...item, message });
    }
  }

  assistant(item: RoleOf<'assistant'>): void {
    this.#settle();
    const content = item.message.content.filter((part) => this.#keeps(part));
    if (content.every((part) => part.type === 'reasoning')) return;
    const before = this.#settled.at(-1);
    if (before === undefined || before.message.role === 'assistant') {
      this.#settled.push({ ...item, message: { role: 'user', content: textContent(MISSING_USER) } });
    }
    this.#settled.push({ ...item, message: { role: 'assistant', content } });
    const calls = content.filter((part) => part.type === 'tool-call');
    if (calls.length === 0) return;
    this.#open = { entryId: item.entryId, turn: item.turn, calls, results: new Map(), steered: [] };
  }

  result(item: RoleOf<'tool'>): void {
    const { callId } = item.message;
    if (this.#open === undefined || this.#open.results.has(callId)) return;
    const call = this.#open.calls.find((call) => call.callId === callId);
    if (call !== undefined) this.#open.results.set(callId, { ...item, message: { ...item.message, name: call.name } });
  }

  /** A turn begins: open calls of another turn get no more results. */
  turnBegins(turn: string | null): void {
    if (this.#open?.turn !== turn) this.#settle();
  }

  /** A turn ends: its open calls get no more results. `closing` becomes its last assistant text, if the turn is in the transcript. */
  turnEnds(turn: string | null, closing: { readonly entryId: string; readonly text: string } | null = null): void {
    if (this.#open?.turn === turn) this.#settle();
    const last = this.#settled.at(-1);
    if (closing === null || last === undefined || last.turn !== turn) return;
    const { entryId, text } = closing;
    if (last.message.role !== 'assistant') {
      this.#settled.push({ entryId, turn, message: { role: 'assistant', content: textContent(text) } });
      return;
    }
    // It is the newest message, so no request has been sent with it yet.
    const content = [...last.message.content, ...textContent(`\n\n${text}`)];
    this.#settled[this.#settled.length - 1] = { ...last, message: { role: 'assistant', content } };
  }

  /** Closes the open calls: a missing result is replaced by a text that says so. */
  #settle(): void {
    if (this.#open !== undefined) this.#settled.push(...answersOf(this.#open));
    this.#open = undefined;
  }

  /** The messages so far; more can be added afterwards. */
  messages(): readonly HistoryMessage[] {
    return [...this.#settled, ...(this.#open === undefined ? [] : answersOf(this.#open))];
  }

  #keeps(part: AssistantPart): boolean {
    if (part.type === 'text') return part.text.trim() !== '';
    if (part.type === 'reasoning') return true;
    if (this.#callIds.has(part.callId)) return false;
    this.#callIds.add(part.callId);
    return true;
  }
}

/** The newest assistant message, while its calls are being answered. */
interface OpenCalls {
  readonly entryId: string;
  readonly turn: string | null;
  readonly calls: readonly ToolCallPart[];
  readonly results: Map<string, HistoryMessage>;
  readonly steered: HistoryMessage[];
}

function answersOf(open: OpenCalls): readonly HistoryMessage[] {
  const results = open.calls.map((call) => open.results.get(call.callId) ?? missingResult(open, call));
  return [...results, ...open.steered];
}

function missingResult(open: OpenCalls, call: ToolCallPart): HistoryMessage {
  return {
    entryId: open.entryId,
    turn: open.turn,
    message: { role: 'tool', callId: call.callId, name: call.name, output: MISSING_RESULT, isError: true },
  };
}

function textContent(text: string): readonly [{ readonly type: 'text'; readonly text: string }] {
  return [{ type: 'text', text }];
}
