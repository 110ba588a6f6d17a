import type { SendingRequest } from '../../core/api-sandbox.ts';
import { cut, plural, Slots } from '../../core/api.ts';
import { siteOf, type ToolContext } from '../../core/api-tools.ts';

/** A call during which pages may have something sent. */
interface RunningCall {
  readonly context: ToolContext;
  /** The owner is asked when the site of the page sends something; else nothing is sent. */
  readonly asks: boolean;
  /** Address of the page that is looked at. */
  readonly page: string;
}

/** Refusals that are kept for the next result. */
const MOST_REFUSALS = 12;
/** Characters of what would be sent that a person is shown. */
const MOST_SHOWN = 2_500;
const LONGEST_VALUE = 600;

/**
 * What the pages of one browser may send. A person is asked once for each origin and method, in the call that made a page
 * send something; the answer holds as long as the browser. What trackers send, and what a page sends by itself while no
 * call or only a reading one runs, is refused without a question.
 */
export class SendGate {
  /** By method and origin. */
  readonly #answers = new Map<string, boolean>();
  readonly #refusals = new Set<string>();
  /** One after the other: the answer to the first may be the answer to all. */
  readonly #questions = new Slots(1);
  #call: RunningCall | undefined;
  /** Of the newest call. */
  #permit: ToolContext['permit'];
  #asked = 0;

  /** Until it is disposed of, questions belong to this call. */
  begin(call: RunningCall): Disposable {
    this.#call = call;
    this.#permit = call.context.permit;
    this.#asked = 0;
    return {
      [Symbol.dispose]: () => {
        if (this.#call === call) this.#call = undefined;
      },
    };
  }

  /** Null: it may be sent. Otherwise one sentence why not. */
  async maySend(request: SendingRequest, signal: AbortSignal): Promise<string | null> {
    const key = `${request.method} ${request.origin}`;
    if (!this.#answers.has(key)) {
      const call = this.#call;
      if (!isOwn(request)) return 'it goes to another site than that of its page, or it only counts visits.';
      if (call === undefined) return 'the page sent it by itself, while nothing was asked for.';
      if (!call.asks)
        return 'the page sent it by itself while it was read; open it with allowSending: true to have the owner asked.';
      await this.#questions.run(async () => {
        if (!this.#answers.has(key) && this.#call === call) await this.#ask(request, call, key);
      }, signal);
    }
    const answer = this.#answers.get(key);
    if (answer !== true)
      return answer === undefined ? 'no one allowed it.' : 'the owner was asked and did not allow it.';
    return this.#permit?.isGranted === false ? 'it is not certain that this gateway still runs the home.' : null;
  }

  /** How many questions the running call has asked. Resolves when none of them waits. */
  async settled(signal: AbortSignal): Promise<number> {
    await this.#questions.run(async () => {}, signal);
    return this.#asked;
  }

  refused(sentence: string): void {
    if (this.#refusals.size < MOST_REFUSALS) this.#refusals.add(sentence);
  }

  /** What was refused since the last time, one sentence each. */
  takeRefusals(): readonly string[] {
    const all = [...this.#refusals];
    this.#refusals.clear();
    return all;
  }

  /** Whether a person allowed anything to be sent. */
  get hasSent(): boolean {
    return [...this.#answers.values()].includes(true);
  }

  async #ask(request: SendingRequest, { context, page }: RunningCall, key: string): Promise<void> {
    this.#asked += 1;
    const { method, origin } = request;
    const answer = await context.people
      .approve({
        title: `Let a web page send something to ${new URL(origin).host}`,
        detail: await sendingText(request, page),
        reason: `A yes holds for all that pages send to ${origin} by ${method} until the browser is closed.`,
        part: this.#asked,
      })
      .catch(() => ({ approved: false }) as const);
    if (!context.signal.aborted) this.#answers.set(key, answer.approved);
  }
}

/**
 * Whether a person could have meant it: a form or link that leads to another page, or a script of a page that talks to its
 * own site. A browser says so in headers that pages cannot set; over plain HTTP it says less. What says nothing is asked
 * about.
 */
function isOwn({ headers, origin }: SendingRequest): boolean {
  const mode = headers['sec-fetch-mode'];
  if (mode === 'navigate' || headers['upgrade-insecure-requests'] === '1') return true;
  if (mode === 'no-cors') return false;
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site !== 'cross-site';
  return headers.origin === undefined || siteOf(headers.origin) === siteOf(origin);
}

/** What a request would send, in lines that a person can read; `page`: where it comes from. */
export async function sendingText({ method, url, headers, body }: SendingRequest, page: string): Promise<string> {
  const lines = body.length === 0 ? [] : await bodyLines(headers['content-type'] ?? '', body);
  const whole = lines.map((line) => `  ${line}`).join('\n');
  const shown = cut(whole, MOST_SHOWN);
  const rest = whole.length - shown.length;
  return [
    `${method} ${cut(url, LONGEST_VALUE)}`,
    `from the page ${cut(page, LONGEST_VALUE)}`,
    ...(lines.length === 0 ? ['It sends nothing else.'] : ['It sends:', shown]),
    ...(rest > 0 ? [`  (and ${rest} more characters)`] : []),
  ].join('\n');
}

async function bodyLines(type: string, body: Uint8Array): Promise<readonly string[]> {
  const sent = new Response(Buffer.from(body), { headers: { 'content-type': type } });
  if (/^(?:multipart\/form-data|application\/x-www-form-urlencoded)\b/iu.test(type)) {
    // What is no form although it says so is shown as it is.
    const form = await sent
      .clone()
      .formData()
      .catch(() => []);
    const lines = [...form].map(([name, value]) =>
      typeof value === 'string'
        ? `${name}: ${cut(value, LONGEST_VALUE)}`
        : `${name}: the file ${value.name}, ${plural(value.size, 'byte')}`,
    );
    if (lines.length > 0) return lines;
  } else if (!/json|^text\//iu.test(type)) {
    return [`${plural(body.length, 'byte')} of ${type === '' ? 'no known kind' : cut(type, 80)}`];
  }
  const text = await sent.text();
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n');
  } catch {
    return text.split('\n');
  }
}
