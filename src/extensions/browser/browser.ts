import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EnclosedProcess, GuardedProxyOptions, RunningProxy } from '../../core/api-sandbox.ts';
import { type Clock, deadline } from '../../core/api.ts';
import { ensureDirectory } from '../../core/api-files.ts';
import type { ToolContext } from '../../core/api-tools.ts';
import { BrowserProcess } from './child-process.ts';
import type { ChildAction, ChildOptions, ChildReply, PageView } from './protocol.ts';
import { SendGate } from './send-gate.ts';

/** What a browser is started with. */
export interface BrowserPorts {
  readonly startProxy: (
    path: string,
    options: Pick<GuardedProxyOptions, 'maySend' | 'onRefused'>,
  ) => Promise<RunningProxy>;
  readonly startChild: (
    folder: string,
    options: Pick<ChildOptions, 'profile' | 'socket' | 'keyHash'>,
  ) => Promise<EnclosedProcess>;
  readonly clock: Clock;
}

/** What an action led to. */
export interface Acted {
  readonly view: PageView;
  /** Why it was not done; undefined: it was. */
  readonly error: string | undefined;
  /** What was not let through meanwhile, one sentence each. */
  readonly refusals: readonly string[];
  /** Base64. */
  readonly image: string | undefined;
  readonly cookies: string | undefined;
}

const START_MS = 40_000;
const ACTION_MS = 60_000;
/** Bytes; kernels take 104 to 108. */
const LONGEST_SOCKET_PATH = 100;
const NOTHING: PageView = { url: 'about:blank', title: '', snapshot: '', notes: [] };

/** The browser of one session: its process, its proxy, and what it may send. */
export class Browser implements AsyncDisposable {
  readonly gate: SendGate;
  readonly #process: BrowserProcess;
  readonly #owned: AsyncDisposableStack;
  readonly #clock: Clock;
  #view: PageView = NOTHING;
  #typed = false;

  private constructor(parts: {
    readonly gate: SendGate;
    readonly process: BrowserProcess;
    readonly owned: AsyncDisposableStack;
    readonly clock: Clock;
  }) {
    this.gate = parts.gate;
    this.#process = parts.process;
    this.#owned = parts.owned;
    this.#clock = parts.clock;
  }

  /** Starts one with its profile in `folder`, which is made. Throws one sentence when it does not start. */
  static async start(
    folder: string,
    { startProxy, startChild, clock }: BrowserPorts,
    signal: AbortSignal,
  ): Promise<Browser> {
    await using stack = new AsyncDisposableStack();
    await ensureDirectory(folder);
    const profile = join(folder, 'profile');
    await ensureDirectory(profile);
    // What a browser that was ended at once left behind would keep the next one from its profile.
    for (const name of ['SingletonLock', 'SingletonCookie', 'SingletonSocket'])
      await rm(join(profile, name), { force: true });
    const place = await socketPlace(folder);
    stack.defer(() => rm(place.remove, { recursive: true, force: true }));
    await rm(place.socket, { force: true });
    const gate = new SendGate();
    const proxy = stack.use(
      await startProxy(place.socket, {
        maySend: (request, ended) => gate.maySend(request, ended),
        onRefused: (sentence) => gate.refused(sentence),
      }),
    );
    const { socket } = place;
    const child = await startChild(folder, { profile, socket, keyHash: proxy.keyHash });
    using limit = deadline(clock, START_MS, 'the start of the browser');
    const process = await BrowserProcess.start(child, AbortSignal.any([signal, limit.signal]));
    stack.defer(() => process.end(clock));
    return new Browser({ gate, process, clock, owned: stack.move() });
  }

  /** The page as it was last seen. */
  get view(): PageView {
    return this.#view;
  }

  /** What it shows may be meant for the owner alone: something was typed into it, or sent by it. */
  get isPersonal(): boolean {
    return this.#typed || this.gate.hasSent;
  }

  get isOver(): boolean {
    return this.#process.isOver;
  }

  /**
   * Does one thing and looks at what it led to, once all questions about it are answered. `asks`: the owner is asked about
   * what the page then sends. Rejects when the browser ended, did not answer in time, or the call is stopped.
   */
  async act(action: ChildAction, context: ToolContext, asks: boolean): Promise<Acted> {
    this.#typed ||= action.act === 'type' || action.act === 'upload';
    using _call = this.gate.begin({ context, asks, page: this.#view.url });
    context.permit?.check();
    let reply = await this.#ask(action, context.signal);
    if ((await this.gate.settled(context.signal)) > 0) {
      // What was waited for may have changed the page; an error was perhaps the wait itself.
      const after = await this.#ask({ act: 'snapshot' }, context.signal);
      reply = 'error' in reply ? after : { ...reply, ...('view' in after ? { view: after.view ?? this.#view } : {}) };
    }
    if (reply.view !== undefined) this.#view = reply.view;
    return {
      view: this.#view,
      error: 'error' in reply ? reply.error : undefined,
      refusals: this.gate.takeRefusals(),
      image: 'image' in reply ? reply.image : undefined,
      cookies: 'cookies' in reply ? reply.cookies : undefined,
    };
  }

  /** Ends it at once; what it did not write down yet is lost. */
  async kill(): Promise<void> {
    this.#process.kill();
    await this.#owned.disposeAsync();
  }

  /** Ends it in order. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  async #ask(action: ChildAction, signal: AbortSignal): Promise<ChildReply> {
    using limit = deadline(this.#clock, ACTION_MS, 'the browser');
    return await this.#process.ask(action, AbortSignal.any([signal, limit.signal]));
  }
}

/** Where its socket is: with the profile, or elsewhere if that path is too long. `remove`: what goes with the browser. */
async function socketPlace(folder: string): Promise<{ readonly socket: string; readonly remove: string }> {
  const socket = join(folder, 'p.sock');
  if (Buffer.byteLength(socket) <= LONGEST_SOCKET_PATH) return { socket, remove: socket };
  const own = await mkdtemp(join(tmpdir(), 'assistant-browser-'));
  return { socket: join(own, 'p.sock'), remove: own };
}
