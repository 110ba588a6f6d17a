import type { EditorServer, EditorServerReport } from '../../bus/editor.ts';
import type { McpServerSettings } from '../../config/schema/tools.ts';
import { approvalHash } from '../../security/access/approval-hash.ts';
import type { StreamingFetch } from '../../security/fetch/fetch.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { backoffMs } from '../../util/backoff.ts';
import { sleep } from '../../util/clock.ts';
import { AppError, errorMessage } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import type { Tool } from '../tool.ts';
import type { KeepFile } from './result.ts';
import { McpServer, type McpServerOptions } from './server.ts';
import { toolsOf, type ToolServer } from './tools.ts';
import { difference, listingHash, type Difference, type Listing } from './listing.ts';
import { TrustStore, type Pin } from './trust-store.ts';

export interface McpPoolOptions extends Pick<
  McpServerOptions,
  'environment' | 'version' | 'clock' | 'random' | 'log' | 'redact' | 'settleMs'
> {
  /** The servers of the configuration by name, with those that are switched off. */
  readonly configured: () => Readonly<Record<string, McpServerSettings>>;
  readonly registry: {
    readonly register: (tool: Tool) => Disposable;
    readonly registerFor: (session: string, tool: Tool) => Disposable;
    readonly named: (name: string, session?: string) => unknown;
  };
  /** The file of agreed tools, and the folder for a damaged one. */
  readonly trust: { readonly path: string; readonly quarantine: string };
  /** Where the local servers start: the workspace, or the folder of an editor's session. */
  readonly folderOf: (session?: string) => string;
  /** For a server at this address; reaches its host and nothing else that is private. */
  readonly fetchFor: (url: URL, settings: McpServerSettings) => StreamingFetch;
  readonly keep: KeepFile;
  /** Told of the servers that an editor brings, before they are started. @default nobody */
  readonly onBrought?: (servers: readonly EditorServer[]) => void;
}

/** How a server is doing, for people. */
export interface ServerFacts {
  readonly name: string;
  /** The command line, or the address; without secrets. */
  readonly runs: string;
  /** `off`: the configuration doesn't use it. */
  readonly state: 'off' | McpServer['state'];
  /** Why it doesn't work. */
  readonly trouble: string | null;
  /** When it was agreed to (milliseconds since 1970) and how many tools it had; null: no contact yet. */
  readonly pinned: { readonly at: number; readonly tools: number } | null;
  /** Names under which its tools are offered. */
  readonly offered: readonly string[];
  /** How what it offers now differs from what was agreed to; null: it isn't running, so nobody knows. */
  readonly difference: Difference | null;
}

/** What a server offers now. */
export interface ServerReport extends ServerFacts {
  /** As it names itself. */
  readonly is: string;
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    /** Its JSON Schema, which a model reads too. */
    readonly parameters: Readonly<Record<string, unknown>>;
    /** `added` and `changed` ones are off until they are agreed to; no model can be shown an `unusable` one. */
    readonly state: 'agreed' | 'added' | 'changed' | 'unusable';
  }[];
  readonly resources: boolean;
  readonly prompts: boolean;
  /** Of all this; an agreement names it. */
  readonly hash: string;
}

/** A server in use, and what models are offered of it. */
interface Member {
  readonly server: McpServer;
  /** The session whose editor brought it, with the tools of it that the owner has allowed. */
  readonly editor: { readonly session: string; readonly allowed: Set<string> } | undefined;
  offered: readonly { readonly name: string; readonly registration: Disposable }[];
  unusable: readonly string[];
  contact?: Promise<void>;
  connecting?: Promise<void>;
  /** Aborts when it is taken out. */
  readonly leaving: AbortController;
}

/** What one attached editor brought. */
interface EditorGroup {
  readonly members: readonly Member[];
  readonly started: Promise<readonly EditorServerReport[]>;
}

/** The same deadlines as a server of the configuration has by default. */
const EDITOR_TIMEOUTS = { startSeconds: 60, callSeconds: 120 };
const EDITOR_PREFIX = 'editor_';
const RETRY = { firstMs: 5_000, maxMs: 300_000 };

/**
 * All MCP servers in use. Those of the configuration are started when one of their tools is first called, and offer what
 * the owner agreed to; those that editors bring run while the editor is attached, and are offered to its session alone.
 */
export class McpPool implements AsyncDisposable {
  readonly #options: McpPoolOptions;
  /** Undefined until there is a server in the configuration. */
  #trust: TrustStore | undefined;
  readonly #members = new Map<string, Member>();
  /** By session, the newest last: of several editors only its servers are offered. */
  readonly #groups = new Map<string, readonly EditorGroup[]>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: McpPoolOptions) {
    this.#options = options;
  }

  /** Registers what was agreed to earlier; to be awaited before the first turn. Starts nothing. */
  async open(): Promise<void> {
    const { configured, trust, clock, log } = this.#options;
    const used = Object.entries(configured()).filter(([, { enabled }]) => enabled);
    if (used.length === 0) return;
    this.#trust = await TrustStore.read({
      ...trust,
      configured: Object.fromEntries(used.map(([name, settings]) => [name, identityOf(settings)])),
      at: clock.now(),
      onDamage: (kept) =>
        log.error('mcp: the file of agreed tools was damaged; they are off until you agree again', { kept }),
    });
    for (const [name, settings] of used) this.#use(name, settings);
  }

  /** Takes up what the configuration says now of these servers. Each of them is ended with its calls; others aren't touched. */
  async update(names: readonly string[]): Promise<void> {
    if (this.#trust === undefined) return await this.open();
    for (const name of names) {
      const before = this.#members.get(name);
      this.#members.delete(name);
      if (before !== undefined) await leave(before);
      const settings = this.#options.configured()[name];
      if (settings?.enabled === true) this.#use(name, settings);
    }
  }

  /** Starts the servers without an agreement in the background, and agrees to what they offer; retries until that works. */
  connectNew(): void {
    for (const member of this.#members.values()) {
      if (this.#pin(member) === undefined) member.connecting ??= this.#keepConnecting(member);
    }
  }

  list(): readonly ServerFacts[] {
    return Object.entries(this.#options.configured()).map(([name, settings]) => this.#facts(name, settings));
  }

  /** Starts it if need be and returns what it offers. Throws one sentence when it doesn't work. */
  async test(name: string): Promise<ServerReport> {
    const { redact } = this.#options;
    const member = this.#member(name);
    const running = await member.server.start();
    if (this.#pin(member) === undefined) await this.#firstContact(member);
    else if (differs(this.#difference(member))) await member.server.settle();
    const { listing, is } = running;
    const { added, changed } = difference(this.#pin(member)?.listing ?? listing, listing);
    const states = new Map<string, ServerReport['tools'][number]['state']>([
      ...member.unusable.map((tool) => [tool, 'unusable'] as const),
      ...added.map((tool) => [tool, 'added'] as const),
      ...changed.map((tool) => [tool, 'changed'] as const),
    ]);
    return {
      ...this.#facts(name, member.server.options.settings),
      is: redact(is),
      tools: listing.tools.map((tool) => ({
        name: tool.name,
        description: redact(tool.description),
        parameters: tool.inputSchema,
        state: states.get(tool.name) ?? 'agreed',
      })),
      resources: listing.resources,
      prompts: listing.prompts,
      hash: listingHash(listing),
    };
  }

  /**
   * Takes what the server offers now as agreed, and offers it. Throws `mcp-changed` when that isn't what `hash` names:
   * nobody agrees to something other than was shown.
   */
  async trust(name: string, hash: string): Promise<Difference> {
    const member = this.#member(name);
    const { listing } = await member.server.start();
    if (listingHash(listing) !== hash) {
      throw new AppError('mcp-changed', `What ${name} offers has changed again meanwhile: look at it once more.`);
    }
    const before = difference(this.#pin(member)?.listing ?? listing, listing);
    await this.#agree(member, listing);
    this.#options.log.info('mcp: the owner agreed to the tools of a server', { server: name, ...before });
    return before;
  }

  /** One sentence for each server that doesn't work or offers something else than was agreed to. */
  troubles(): readonly string[] {
    return [...this.#members.values()].flatMap((member) => {
      const { trouble } = member.server;
      if (trouble !== null) return [`The MCP server ${member.server.options.name} does not work: ${trouble}.`];
      const { added = [], changed = [] } = this.#difference(member) ?? {};
      const off = added.length + changed.length;
      if (off === 0) return [];
      const what = `${plural(off, 'new or changed tool')} that ${off === 1 ? 'is' : 'are'} off until you agree`;
      return [
        `The MCP server ${member.server.options.name} has ${what}: ${assistantCommand(`mcp trust ${member.server.options.name}`)}`,
      ];
    });
  }

  /** Starts the servers that an editor brings to a session, and ends them when the result is disposed of. */
  attach(session: string, servers: readonly EditorServer[]): Disposable {
    this.#options.onBrought?.(servers);
    const members = servers.map((given) =>
      this.#join({ name: `${EDITOR_PREFIX}${given.name}`, settings: settingsOf(given), session }),
    );
    const group = { members, started: Promise.all(members.map(startForEditor)) };
    this.#groups.set(session, [...(this.#groups.get(session) ?? []), group]);
    void group.started.then(() => this.#offerNewest(session));
    return {
      [Symbol.dispose]: () => {
        const left = (this.#groups.get(session) ?? []).filter((one) => one !== group);
        if (left.length === 0) this.#groups.delete(session);
        else this.#groups.set(session, left);
        const ended = Promise.all(members.map(leave)).then(() => void this.#ending.delete(ended));
        this.#ending.add(ended);
        this.#offerNewest(session);
      },
    };
  }

  /** Resolves when the servers of a session's newest editor are running or have failed. */
  async started(session: string): Promise<readonly EditorServerReport[]> {
    return (await this.#groups.get(session)?.at(-1)?.started) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ofEditors = [...this.#groups.values()].flat().flatMap(({ members }) => members);
    const all = [...this.#members.values(), ...ofEditors];
    this.#members.clear();
    this.#groups.clear();
    await Promise.all([...all.map(leave), ...this.#ending]);
  }

  #use(name: string, settings: McpServerSettings): void {
    const member = this.#join({ name, settings, onListing: () => this.#logDifference(member) });
    this.#members.set(name, member);
    const pin = this.#pin(member);
    if (pin !== undefined) this.#offer(member, pin.listing);
  }

  #join({
    session,
    ...given
  }: Pick<McpServerOptions, 'name' | 'settings' | 'onListing'> & { session?: string }): Member {
    const { folderOf, fetchFor } = this.#options;
    const server = new McpServer({
      ...this.#options,
      ...given,
      workspace: folderOf(session),
      fetch: (url, init) => fetchFor(new URL(given.settings.url ?? ''), given.settings)(url, init),
    });
    const editor = session === undefined ? undefined : { session, allowed: new Set<string>() };
    return { server, editor, offered: [], unusable: [], leaving: new AbortController() };
  }

  async #keepConnecting(member: Member): Promise<void> {
    const { clock, random } = this.#options;
    const { signal } = member.leaving;
    for (let failures = 1; !signal.aborted; failures += 1) {
      try {
        return await this.#firstContact(member);
      } catch {
        // It is in the log; the server may only be late.
        await sleep(clock, backoffMs(failures, RETRY, random), signal).catch(() => {});
      }
    }
  }

  /** First contact: whoever wrote the server into the configuration wants what it offers. */
  #firstContact(member: Member): Promise<void> {
    const meet = async (): Promise<void> => {
      const { server } = member;
      const running = await server.start();
      await server.settle();
      if (this.#pin(member) !== undefined) return;
      const { listing } = running;
      await this.#agree(member, listing);
      this.#options.log.info('mcp: first contact with a server; its tools are agreed to as they are now', {
        server: server.options.name,
        tools: listing.tools.length,
      });
    };
    member.contact ??= meet().finally(() => (member.contact = undefined));
    return member.contact;
  }

  async #agree(member: Member, listing: Listing): Promise<void> {
    const { server, leaving } = member;
    const { name, settings } = server.options;
    if (leaving.signal.aborted) return;
    const pin = { identity: identityOf(settings), at: this.#options.clock.now(), listing };
    await this.#trust?.put(name, pin);
    if (!leaving.signal.aborted) this.#offer(member, listing);
  }

  #offer(member: Member, listing: Listing): void {
    const { registry, keep, log } = this.#options;
    const { server, editor } = member;
    const { name } = server.options;
    withdraw(member);
    const isTaken = (tool: string): boolean => registry.named(tool, editor?.session) !== undefined;
    const { tools, unusable } = toolsOf(listing, {
      server,
      keep,
      isTaken,
      ...(editor && asEditors(name, editor)),
    });
    member.offered = tools.map((tool) => {
      const registration = editor === undefined ? registry.register(tool) : registry.registerFor(editor.session, tool);
      return { name: tool.name, registration };
    });
    member.unusable = unusable;
    if (unusable.length === 0) return;
    log.warn('mcp: tools left out, because no model takes their schemas', { server: name, tools: unusable });
  }

  #offerNewest(session: string): void {
    const groups = this.#groups.get(session) ?? [];
    for (const member of groups.flatMap(({ members }) => members)) withdraw(member);
    for (const member of groups.at(-1)?.members ?? []) {
      if (member.server.listing !== undefined) this.#offer(member, member.server.listing);
    }
  }

  #logDifference(member: Member): void {
    const found = this.#difference(member);
    if (!differs(found)) return;
    this.#options.log.warn('mcp: server offers other tools than were agreed to; new and changed ones are off', {
      server: member.server.options.name,
      ...found,
    });
  }

  /** Null while it isn't running. */
  #difference(member: Member): Difference | null {
    const { listing } = member.server;
    return listing === undefined ? null : difference(this.#pin(member)?.listing ?? listing, listing);
  }

  #facts(name: string, settings: McpServerSettings): ServerFacts {
    const member = this.#members.get(name);
    const pin = member && this.#pin(member);
    return {
      name,
      runs: this.#options.redact(settings.url ?? [settings.command, ...settings.args].join(' ')),
      state: member?.server.state ?? 'off',
      trouble: member?.server.trouble ?? null,
      pinned: pin === undefined ? null : { at: pin.at, tools: pin.listing.tools.length },
      offered: member?.offered.map((tool) => tool.name) ?? [],
      difference: member === undefined ? null : this.#difference(member),
    };
  }

  #pin({ server: { options } }: Member): Pin | undefined {
    return this.#trust?.get(options.name, identityOf(options.settings));
  }

  #member(name: string): Member {
    const member = this.#members.get(name);
    if (member !== undefined) return member;
    const why = Object.hasOwn(this.#options.configured(), name) ? 'is switched off' : 'is not in the configuration';
    throw new AppError('mcp-unknown', `The MCP server ${JSON.stringify(name.slice(0, 64))} ${why} (mcpServers).`);
  }
}

function withdraw(member: Member): void {
  for (const { registration } of member.offered) registration[Symbol.dispose]();
  member.offered = [];
}

async function leave(member: Member): Promise<void> {
  withdraw(member);
  member.leaving.abort();
  await member.server[Symbol.asyncDispose]().catch(() => {});
  await member.connecting;
}

/** What makes it another server: what is started or reached, not how. */
function identityOf({ command, args, cwd, url }: McpServerSettings): string {
  return approvalHash(url === undefined ? { command, args, cwd } : { url });
}

function differs(found: Difference | null): boolean {
  return found !== null && found.added.length + found.changed.length + found.removed.length > 0;
}

async function startForEditor({ server }: Member): Promise<EditorServerReport> {
  const shown = server.options.name.slice(EDITOR_PREFIX.length);
  try {
    const { listing } = await server.start();
    await server.settle();
    return { name: shown, trouble: null, tools: (server.listing ?? listing).tools.length };
  } catch (error) {
    return { name: shown, trouble: server.trouble ?? errorMessage(error), tools: 0 };
  }
}

/** Nobody looked through a server that an editor brought, and nothing of it is kept. */
function asEditors(
  name: string,
  { allowed }: { readonly allowed: Set<string> },
): Pick<ToolServer, 'remedy' | 'firstUse'> {
  return {
    remedy: 'The owner opens the conversation in the editor again to use what it offers now.',
    firstUse: {
      allowed,
      ask: (tool, params) => ({
        title: 'Use a tool of the editor',
        detail: escapeControlChars(`${tool}\n${JSON.stringify(params, null, 2)}`),
        reason: `it is the first use of a tool of ${name}, an MCP server that the editor brought and nobody looked through`,
      }),
    },
  };
}

function settingsOf(given: EditorServer): McpServerSettings {
  return {
    type: 'stdio',
    args: [],
    env: {},
    cwd: null,
    headers: {},
    enabled: true,
    tools: ['*'],
    role: 'owner',
    trusted: false,
    timeouts: EDITOR_TIMEOUTS,
    ...given,
  };
}
