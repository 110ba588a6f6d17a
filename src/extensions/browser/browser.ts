import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import {
  ByteLines,
  runEnclosed,
  type EnclosedProcess,
  type GuardedProxyOptions,
  type Sandbox,
} from '../../core/api-sandbox.ts';
import {
  AppError,
  type Clock,
  cut,
  deadline,
  errorMessage,
  oneLine,
  raceAbort,
  sentences,
  sleep,
  z,
} from '../../core/api.ts';
import { ensureDirectory } from '../../core/api-files.ts';
import { runnableFile } from '../../core/api-paths.ts';
import type { ToolContext } from '../../core/api-tools.ts';
import { LIMITS, type PageRequest } from './pages.ts';
import type { BrowserProgram } from './program.ts';
import { SendGate } from './send-gate.ts';

export interface BrowserOptions {
  readonly program: BrowserProgram;
  readonly sandbox: Pick<Sandbox, 'probe'>;
  /** Which hosts it reaches. */
  readonly web: Pick<GuardedProxyOptions, 'allowHosts' | 'denyHosts'>;
  readonly clock: Clock;
}

const reply = z.object({
  url: z.string().max(LIMITS.url),
  title: z.string().max(LIMITS.title),
  /** The page as a tree of roles, names and refs. */
  snapshot: z.string().max(LIMITS.snapshot),
  /** What happened beside, one sentence each: dialogs, new tabs, downloads. */
  notes: z.array(z.string().max(LIMITS.note)).max(LIMITS.notes),
  /** Why what was asked for was not done. */
  error: z.string().max(LIMITS.error).optional(),
  /** Base64 of a JPEG. */
  image: z.string().optional(),
  cookies: z.string().max(LIMITS.cookies).optional(),
});

/** The page after what was asked for. */
export type PageReply = z.infer<typeof reply>;

/** What an action led to. */
export interface Acted extends PageReply {
  /** What was not let through meanwhile, one sentence each. */
  readonly refusals: readonly string[];
}

/** More than an action with its start takes in the child. */
const ANSWER_MS = 100_000;
/** How long it may take to end in order. */
const GRACE_MS = 2_000;
/** Longest line; a screenshot is the longest thing that is said. */
const MOST_LINE = 12_000_000;
/** What it last wrote to its standard error, characters. */
const LAST_WORDS = 2_000;
const SYSTEM = /^\/(?:usr|bin|lib|lib64|nix\/store)\//u;
/** Of Node alone; the browser has processes of its own. */
const NODE_FLAGS = ['--max-old-space-size=256', '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON'];

/** The browser of one session: its process, its proxy, and what it may send. */
export class Browser {
  readonly #gate: SendGate;
  readonly #child: EnclosedProcess;
  readonly #owned: AsyncDisposableStack;
  readonly #clock: Clock;
  readonly #lines = new ByteLines(MOST_LINE);
  readonly #ended: Promise<void>;
  #waiting: PromiseWithResolvers<PageReply> | undefined;
  #view: PageReply = { url: 'about:blank', title: '', snapshot: '', notes: [] };
  #lastWords = '';
  #hasAnswered = false;
  #isOver = false;
  #typed = false;

  private constructor(
    child: EnclosedProcess,
    parts: { readonly gate: SendGate; readonly owned: AsyncDisposableStack; readonly clock: Clock },
  ) {
    this.#child = child;
    this.#gate = parts.gate;
    this.#owned = parts.owned;
    this.#clock = parts.clock;
    child.stdout.on('data', (piece: Buffer) => this.#read(piece));
    child.stderr.on('data', (piece: Buffer) => {
      this.#lastWords = (this.#lastWords + piece.toString('utf8')).slice(-LAST_WORDS);
    });
    this.#ended = child.exit
      .catch((error: unknown) => void (this.#lastWords = errorMessage(error)))
      .then(() => {
        this.#isOver = true;
        this.#waiting?.reject(this.#gone());
      });
  }

  /**
   * Starts one with its profile in `folder` (absolute and real), in the sandbox: without a network, without a home, with that
   * folder as the only place that lasts. Throws `browser-sandbox` where there is no sandbox: then there is no browser either.
   */
  static async start(folder: string, { program, sandbox, web, clock }: BrowserOptions): Promise<Browser> {
    const found = await sandbox.probe();
    if (!found.available) {
      const remedy = found.remedy === undefined ? '' : `To change that: ${found.remedy}`;
      const why = sentences('There is no sandbox, so there is no browser', found.reason, remedy);
      throw new AppError('browser-sandbox', why);
    }
    await using stack = new AsyncDisposableStack();
    const profile = join(folder, 'profile');
    await ensureDirectory(profile);
    // What a browser that was ended at once left behind would keep the next one from its profile.
    for (const name of ['SingletonLock', 'SingletonCookie', 'SingletonSocket'])
      await rm(join(profile, name), { force: true });
    // Not in the home: kernels take 104 to 108 bytes for the path of a socket.
    const place = await mkdtemp(join(tmpdir(), 'assistant-browser-'));
    stack.defer(() => rm(place, { recursive: true, force: true }));
    const socket = join(place, 'p.sock');
    const gate = new SendGate();
    const { startGuardedProxy } = await import('../../core/api-proxy.ts');
    const proxy = stack.use(
      await startGuardedProxy(socket, {
        ...web,
        clock,
        maySend: (request, ended) => gate.maySend(request, ended),
        onRefused: (sentence) => gate.refused(sentence),
      }),
    );
    const file = runnableFile(new URL('./browser-child.ts', import.meta.url));
    const [node, library, executable] = await Promise.all([
      realpath(process.execPath),
      realpath(program.library),
      realpath(program.executable),
    ]);
    const programs = [dirname(file), node, library, ...(SYSTEM.test(executable) ? [] : [dirname(executable)])];
    const child = runEnclosed(
      {
        command: [node, ...NODE_FLAGS, file, library, executable, socket, proxy.keyHash],
        cwd: folder,
        environment: { PATH: '/usr/local/bin:/usr/bin:/bin', HOME: folder, LANG: 'C.UTF-8' },
      },
      {
        engine: found.engine,
        mounts: [...[...programs, place].map((path) => ({ path, as: 'read' as const })), { path: folder, as: 'write' }],
        network: false,
        input: true,
        clock,
      },
    );
    return new Browser(child, { gate, owned: stack.move(), clock });
  }

  /** The page as it was last seen. */
  get view(): PageReply {
    return this.#view;
  }

  /** What it shows may be meant for the owner alone: something was typed into it, or sent by it. */
  get isPersonal(): boolean {
    return this.#typed || this.#gate.hasSent;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Does one thing and looks at what it led to, once all questions about it are answered. `asks`: the owner is asked about
   * what the page then sends. Rejects when the browser ended, did not answer in time, or the call is stopped. One at a time.
   */
  async act(request: PageRequest, context: ToolContext, asks: boolean): Promise<Acted> {
    this.#typed ||= request.action === 'type' || request.action === 'upload';
    using _call = this.#gate.begin({ context, asks, page: this.#view.url });
    context.permit?.check();
    let acted = await this.#ask(request, context.signal);
    if ((await this.#gate.settled(context.signal)) > 0) {
      // What was waited for may have changed the page; an error was perhaps the wait itself.
      const { error: _error, notes, ...before } = acted;
      const after = await this.#ask({ action: 'snapshot' }, context.signal);
      acted = { ...before, ...after, notes: [...notes, ...after.notes] };
    }
    this.#view = acted;
    return { ...acted, refusals: this.#gate.takeRefusals() };
  }

  /** Lets it write down what it keeps, unless it is to end at once, and ends it. */
  async end(atOnce: boolean): Promise<void> {
    this.#child.stdin?.end();
    if (!atOnce) await Promise.race([this.#ended, sleep(this.#clock, GRACE_MS)]);
    await this.#child.end();
    await this.#ended;
    await this.#owned.disposeAsync();
  }

  async #ask(request: PageRequest, signal: AbortSignal): Promise<PageReply> {
    if (this.#isOver) throw this.#gone();
    using limit = deadline(this.#clock, ANSWER_MS, 'the browser');
    const waiting = Promise.withResolvers<PageReply>();
    this.#waiting = waiting;
    this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
    try {
      return await raceAbort(waiting.promise, AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      // What did not answer in time cannot be asked anything else: the answers would be mixed up.
      void this.#child.end();
      throw error;
    }
  }

  /** Nothing that comes out of the sandbox is trusted: it is ended when it says anything but an answer. */
  #read(piece: Buffer): void {
    const lines = this.#lines.push(piece);
    for (const line of lines ?? []) {
      const parsed = reply.safeParse(parse(line));
      if (!parsed.success) return void this.#child.end();
      this.#hasAnswered = true;
      this.#waiting?.resolve(parsed.data);
    }
    if (lines === undefined) void this.#child.end();
  }

  #gone(): AppError {
    const words = oneLine(cut(this.#lastWords, LAST_WORDS), 300);
    if (!this.#hasAnswered) return new AppError('browser-start', `The browser did not start: ${words}`);
    return new AppError('browser-gone', `The browser ended${words === '' ? '.' : ` (${words}).`} Open the page again.`);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
