import type { SendingRequest } from '../../core/api-sandbox.ts';
import { raceAbort } from '../../core/api.ts';
import { siteOf, type ToolContext } from '../../core/api-tools.ts';
import { sendingText } from './sent-text.ts';

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

/**
 * What the pages of one browser may send. A person is asked once for each origin and method, in the call that made a page
 * send something; the answer holds as long as the browser. What trackers send, and what a page sends by itself while no
 * call or only a reading one runs, is refused without a question.
 */
export class SendGate {
  readonly #answers = new Map<string, boolean>();
  readonly #refusals = new Set<string>();
  #call: RunningCall | undefined;
  /** Of the newest call. */
  #permit: ToolContext['permit'];
  #asking: Promise<unknown> | undefined;
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
    const why = await this.#refusal(request, signal);
    return why === null && this.#permit?.isGranted === false
      ? 'it is not certain that this gateway still runs the home.'
      : why;
  }

  async #refusal(request: SendingRequest, signal: AbortSignal): Promise<string | null> {
    const known = this.#answer(request);
    if (known !== undefined) return known;
    const call = this.#call;
    if (!isOwn(request)) return 'it goes to another site than that of its page, or it only counts visits.';
    if (call === undefined) return 'the page sent it by itself, while nothing was asked for.';
    if (!call.asks)
      return 'the page sent it by itself while it was read; open it with allowSending: true to have the owner asked.';
    // Questions of one page are asked one after the other; the answer to the first may be the answer to all.
    while (this.#asking !== undefined)
      await raceAbort(
        this.#asking.catch(() => {}),
        signal,
      );
    const now = this.#answer(request);
    if (now !== undefined) return now;
    if (this.#call !== call) return 'the call that it belongs to is over.';
    this.#asking = this.#ask(request, call);
    try {
      await raceAbort(this.#asking, signal);
    } finally {
      this.#asking = undefined;
    }
    const given = this.#answer(request);
    return given === undefined ? 'no one allowed it.' : given;
  }

  /** How many questions the running call has asked. Resolves when none of them waits. */
  async settled(signal: AbortSignal): Promise<number> {
    while (this.#asking !== undefined)
      await raceAbort(
        this.#asking.catch(() => {}),
        signal,
      );
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

  #answer(request: SendingRequest): string | null | undefined {
    const answer = this.#answers.get(keyOf(request));
    if (answer === undefined) return undefined;
    return answer ? null : 'the owner was asked and did not allow it.';
  }

  async #ask(request: SendingRequest, { context, page }: RunningCall): Promise<void> {
    this.#asked += 1;
    const { host } = new URL(request.origin);
    const answer = await context.people
      .approve({
        title: `Let a web page send something to ${host}`,
        detail: sendingText(request, page),
        reason: `A yes holds for all that pages send to ${request.origin} by ${request.method} until the browser is closed.`,
        part: this.#asked,
      })
      .catch(() => ({ approved: false }) as const);
    if (!context.signal.aborted) this.#answers.set(keyOf(request), answer.approved);
  }
}

function keyOf({ method, origin }: SendingRequest): string {
  return `${method} ${origin}`;
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
