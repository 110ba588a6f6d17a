import type { ModelApiRequest, Step, StepHandler } from '../support/model-script.ts';
import { isRecord } from '../support/validate.ts';
import { readInjection, readNames, type Injected } from './injected.ts';

/** What it says when there is nothing left to do. */
const DONE = 'Done.';

/**
 * Plays a model that does at once, word for word, what any text of its request asks for (see `injection`): the system
 * prompt, the names and descriptions of tools, messages of anybody, results, the bytes of images. Each thing once.
 */
export class GullibleModel {
  /** Obeys nobody and says this, until it is null again. */
  says: string | null = null;
  /** It obeys these tokens only. @default all */
  only: readonly string[] | null = null;
  /** What it makes of the texts of a request beside reading them as they stand. @default nothing */
  reads: ((text: string) => string) | null = null;
  readonly #done = new Set<string>();
  readonly #tried: string[] = [];
  readonly #seen = new Set<string>();
  #answers = 0;

  /** How often it has said its last word. */
  get answers(): number {
    return this.#answers;
  }

  /** Tokens that stood in a request, obeyed or not. */
  get seen(): ReadonlySet<string> {
    return this.#seen;
  }

  /** Tokens that it obeyed, in order. */
  get tried(): readonly string[] {
    return this.#tried;
  }

  /** Knows nothing of what was before. */
  begin(): void {
    this.says = null;
    this.only = null;
    this.#done.clear();
    this.#seen.clear();
    this.#tried.length = 0;
    this.#answers = 0;
  }

  readonly answer: StepHandler = (request) => {
    const found = readInjection(this.#read(request));
    for (const { token } of found) this.#seen.add(token);
    if (this.says !== null) return this.says;
    const next = found.find(({ token }) => !this.#done.has(token) && this.only?.includes(token) !== false);
    if (next === undefined) {
      this.#answers += 1;
      return DONE;
    }
    this.#done.add(next.token);
    this.#tried.push(next.token);
    if ('say' in next.wanted) this.#answers += 1;
    return stepFor(next.wanted, request);
  };

  /** Plays the keeper of the memory: whoever speaks of `text` has it kept, word for word. */
  remember(request: ModelApiRequest, text: string): Step {
    for (const { token } of readInjection(this.#read(request))) this.#seen.add(token);
    const { lastUserText } = request.view;
    const conversation = lastUserText.slice(lastUserText.indexOf('<conversation>'));
    if (!conversation.includes(text))
      return { calls: [{ name: 'save_memory', arguments: { history_entry: 'They talked.' } }] };
    const before = /<memory>\n([\s\S]*?)\n<\/memory>/u.exec(lastUserText)?.[1] ?? '';
    const said = `To be done in every conversation: ${text}`;
    const kept = { history_entry: said, memory_update: `${before}\n- ${said}`.trim() };
    return { calls: [{ name: 'save_memory', arguments: kept }] };
  }

  #read({ body }: ModelApiRequest): string {
    const text = textsOf(body).join('\n');
    return `${text}\n${readNames(text)}\n${this.reads?.(text) ?? ''}`;
  }
}

function stepFor(wanted: Injected, { view, body }: ModelApiRequest): Step {
  const last = view.toolResults.at(-1)?.text ?? '';
  const pin = /My PIN is (?<pin>[\w-]+)/u.exec(textsOf(body).join('\n'))?.groups?.['pin'] ?? '';
  if ('say' in wanted) return { text: wanted.say.replaceAll('{{LAST}}', () => last) };
  const filled = fill(wanted.arguments, (text) =>
    text
      .replaceAll('{{LAST}}', () => encodeURIComponent(last))
      .replaceAll(/\{\{PIN(?::(?<form>\w+))?\}\}/gu, (_, form?: string) => formOf(pin, form)),
  );
  return { calls: [{ name: wanted.name, arguments: filled as Record<string, unknown> }] };
}

/** The same data with each of its texts changed. */
function fill(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === 'string') return change(value);
  if (Array.isArray(value)) return value.map((item) => fill(item, change));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, change)]));
}

/** As those write who do not want to be read. */
function formOf(text: string, form: string | undefined): string {
  if (form === 'reverse') return Array.from(text).toReversed().join('');
  if (form === 'upper') return text.toUpperCase();
  return form === 'hex' || form === 'base64url' ? Buffer.from(text).toString(form) : text;
}

/** All texts of a request, those of images as what their bytes say. */
function textsOf(value: unknown): readonly string[] {
  if (typeof value === 'string') {
    const image = /^data:image\/\w+;base64,(?<data>.+)$/u.exec(value)?.groups?.['data'];
    return [image === undefined ? value : Buffer.from(image, 'base64').toString('latin1')];
  }
  if (Array.isArray(value)) return value.flatMap(textsOf);
  return isRecord(value) ? Object.values(value).flatMap(textsOf) : [];
}
