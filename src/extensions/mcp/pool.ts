import { AppError, assistantCommand, errorMessage, plural, sleep, type App } from '../../core/api.ts';
import type { Finding } from '../../core/api-doctor.ts';
import {
  approvalHash,
  backoffMs,
  collectSecrets,
  type EditorServer,
  type EditorServerReport,
} from '../../core/api-clients.ts';
import { difference, listingHash, readOnlyIn, readOnlyLines, type Difference, type Listing } from './listing.ts';
import { McpServer, ownName } from './server.ts';
import { mcpServers, type McpServerSettings } from './settings.ts';
import { toolsOf } from './tools.ts';
import { TrustStore, type Pin } from './trust-store.ts';

/** A server in use, and what models are offered of it. */
interface Member {
  readonly server: McpServer;
  /** The session whose editor brought it; its tools are for that one alone. */
  readonly session: string | undefined;
  /** See `ToolServer`. */
  readonly allowed: Set<string> | undefined;
  /** Of one of an editor, what it offered when it was ready; what it changes later is off. */
  listing?: Listing;
  offered: readonly { readonly name: string; readonly registration: Disposable }[];
  unusable: readonly string[];
  /** The last difference from what was agreed to that the log has, as JSON. */
  logged?: string;
  connecting?: Promise<void>;
  /** True while the owner is being asked about its tools. */
  asking?: Promise<void>;
}

/** What one attached editor brought to a session. */
interface Group {
  readonly members: readonly Member[];
  readonly started: Promise<readonly EditorServerReport[]>;
}

const EDITOR_PREFIX = 'editor_';
const RETRY = { firstMs: 5_000, maxMs: 300_000 };

/**
 * All MCP servers in use. Those of the configuration are started when one of their tools is first called, and offer what
 * the owner agreed to; those that editors bring run while the editor is attached, and are offered to its session alone.
 */
export class McpPool implements AsyncDisposable {
  readonly #app: App;
  readonly #trust: TrustStore;
  readonly #settleMs: number | undefined;
  /** Those of the configuration. */
  readonly #members = new Map<string, Member>();
  /** Those of editors by session, the newest last: of several editors only the servers of the newest are offered. */
  readonly #groups = new Map<string, readonly Group[]>();
  #ending: Promise<unknown> = Promise.resolve();

  private constructor(app: App, trust: TrustStore, settleMs: number | undefined) {
    this.#app = app;
    this.#trust = trust;
    this.#settleMs = settleMs;
  }

  /** Registers what was agreed to earlier. Starts nothing. */
  static async open(app: App, { settleMs }: { readonly settleMs?: number } = {}): Promise<McpPool> {
    const used = Object.entries(app.settingsOf(mcpServers)).filter(([, { enabled }]) => enabled);
    const identities = Object.fromEntries(used.map(([name, settings]) => [name, identityOf(settings)]));
    const pool = new McpPool(app, await TrustStore.read(app, identities), settleMs);
    for (const [name, settings] of used) pool.#use(name, settings);
    return pool;
  }

  /** Takes up what the configuration says now of these servers. Each of them is ended with its calls; others aren't touched. */
  async update(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const before = this.#members.get(name);
      this.#members.delete(name);
      if (before !== undefined) await leave(before);
      const settings = this.#app.settingsOf(mcpServers)[name];
      if (settings?.enabled === true) this.#use(name, settings);
    }
  }

  /**
   * Starts the servers without an agreement in the background, and agrees to what they offer; retries until that works. Asks
   * the owner once for each server which of its tools only read.
   */
  connectNew(): void {
    if (this.#app.safe) return;
    for (const member of this.#members.values()) {
      if (this.#pin(member) === undefined) member.connecting ??= this.#keepConnecting(member);
      else this.#askReadOnly(member);
    }
  }

  /** How each server of the configuration is doing. */
  list() {
    return Object.keys(this.#app.settingsOf(mcpServers)).map((name) => this.#facts(name));
  }

  /** Starts it if need be and returns what it offers. Throws one sentence when it doesn't work. */
  async test(name: string) {
    const { redact } = this.#app;
    const member = this.#member(name);
    const running = await member.server.start();
    if (this.#pin(member) === undefined) await this.#firstContact(member);
    else if (differs(this.#difference(member))) await member.server.settle();
    const { listing } = running;
    const { added, changed } = difference(this.#pin(member)?.listing ?? listing, listing);
    const stateOf = (tool: string): 'changed' | 'added' | 'unusable' | 'agreed' => {
      if (changed.includes(tool)) return 'changed';
      if (added.includes(tool)) return 'added';
      return member.unusable.includes(tool) ? 'unusable' : 'agreed';
    };
    return {
      ...this.#facts(name),
      /** As it names itself. */
      is: redact(ownName(running)),
      tools: listing.tools.map((tool) => ({
        name: tool.name,
        description: redact(tool.description),
        /** Its JSON Schema, which a model reads too. */
        parameters: tool.inputSchema,
        /** `added` and `changed` ones are off until they are agreed to; no model can be shown an `unusable` one. */
        state: stateOf(tool.name),
      })),
      resources: listing.resources,
      prompts: listing.prompts,
      /** Lines for people: which of them only read and which don't. Empty once the owner has agreed. */
      readOnly: this.#isReadOnlyAgreed(member, listing) ? [] : readOnlyLines(listing),
      /** Of all this; an agreement names it. */
      hash: listingHash(listing),
    };
  }

  /**
   * Takes what the server offers now as agreed, and its word on which tools only read, and offers it. Throws `mcp-changed` when that isn't what `hash` names:
   * nobody agrees to something other than was shown.
   */
  async trust(name: string, hash: string): Promise<Difference> {
    const member = this.#member(name);
    const { listing } = await member.server.start();
    if (listingHash(listing) !== hash) {
      throw new AppError('mcp-changed', `What ${name} offers has changed again meanwhile: look at it once more.`);
    }
    const before = difference(this.#pin(member)?.listing ?? listing, listing);
    await this.#agree(member, listing, readOnlyIn(listing));
    this.#app.log.info('mcp: the owner agreed to the tools of a server', { server: name, ...before });
    return before;
  }

  /** One for each server that doesn't work or offers something else than was agreed to. */
  troubles(): readonly Finding[] {
    return [...this.#members].flatMap<Finding>(([name, member]) => {
      const { trouble } = member.server;
      const of = { id: 'mcp.server', facts: { server: name } };
      if (trouble !== null)
        return [{ ...of, state: 'failed', says: `The MCP server ${name} does not work: ${trouble}.`, remedy: null }];
      const { added = [], changed = [] } = this.#difference(member) ?? {};
      const off = added.length + changed.length;
      if (off === 0) return [];
      const what = `${plural(off, 'new or changed tool')} that ${off === 1 ? 'is' : 'are'} off until you agree`;
      const remedy = assistantCommand(`mcp trust ${name}`);
      return [{ ...of, state: 'warning', says: `The MCP server ${name} has ${what}.`, remedy, lead: 'To agree' }];
    });
  }

  /** Starts the servers that an editor brings to a session, and ends them when the result is disposed of. */
  attach(session: string, servers: readonly EditorServer[]): Disposable {
    const { editors, paths, learnSecrets } = this.#app;
    // What they are given counts as a secret by the rules for servers of the configuration.
    learnSecrets(collectSecrets({ mcpServers: servers }, {}, []));
    const folder = editors.folderOf(session) ?? paths.workspace;
    const members = servers.map((given) => {
      const [settings] = Object.values(mcpServers.schema.parse({ one: given }));
      if (settings === undefined) throw new TypeError('one server has one entry');
      return this.#join({ name: `${EDITOR_PREFIX}${given.name}`, settings, folder }, session);
    });
    const group = { members, started: Promise.all(members.map(startForEditor)) };
    this.#groups.set(session, [...this.#groupsOf(session), group]);
    void group.started.then(() => this.#offerNewest(session));
    return {
      [Symbol.dispose]: () => {
        const left = this.#groupsOf(session).filter((one) => one !== group);
        if (left.length === 0) this.#groups.delete(session);
        else this.#groups.set(session, left);
        this.#ending = Promise.all([this.#ending, ...members.map(leave)]);
        this.#offerNewest(session);
      },
    };
  }

  #groupsOf(session: string): readonly Group[] {
    return this.#groups.get(session) ?? [];
  }

  #offerNewest(session: string): void {
    const groups = this.#groupsOf(session);
    for (const { members } of groups) members.forEach(withdraw);
    for (const member of groups.at(-1)?.members ?? []) this.#offer(member, member.listing);
  }

  /** Resolves when the servers of the newest editor of a session are running or have failed. */
  async started(session: string): Promise<readonly EditorServerReport[]> {
    return (await this.#groupsOf(session).at(-1)?.started) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const brought = [...this.#groups.values()].flat().flatMap(({ members }) => members);
    const all = [...this.#members.values(), ...brought];
    this.#members.clear();
    await Promise.all([...all.map(leave), this.#ending]);
  }

  #use(name: string, settings: McpServerSettings): void {
    const onListing = (): void => {
      const found = this.#difference(member);
      const json = JSON.stringify(found);
      if (!differs(found) || member.logged === json) return;
      member.logged = json;
      const event = 'mcp: server offers other tools than were agreed to; new and changed ones are off';
      this.#app.log.warn(event, { server: name, ...found });
    };
    const member = this.#join({ name, settings, folder: this.#app.paths.workspace, onListing });
    this.#members.set(name, member);
    const pin = this.#pin(member);
    if (pin !== undefined) this.#offer(member, pin.listing);
  }

  #join(options: Pick<McpServer['options'], 'name' | 'settings' | 'folder' | 'onListing'>, session?: string): Member {
    const server = new McpServer({ ...options, app: this.#app, settleMs: this.#settleMs });
    const allowed = session === undefined ? undefined : new Set<string>();
    return { server, session, allowed, offered: [], unusable: [] };
  }

  async #keepConnecting(member: Member): Promise<void> {
    const { clock, random } = this.#app;
    const { closing } = member.server;
    for (let failures = 1; !closing.aborted; failures += 1) {
      try {
        return await this.#firstContact(member);
      } catch {
        // It is in the log; the server may only be late.
        await sleep(clock, backoffMs(failures, RETRY, random), closing).catch(() => {});
      }
    }
  }

  /** Whoever wrote the server into the configuration wants what it offers. */
  async #firstContact(member: Member): Promise<void> {
    const { server } = member;
    const running = await server.start();
    await server.settle();
    if (this.#pin(member) !== undefined) return;
    const { listing } = running;
    await this.#agree(member, listing, null);
    this.#askReadOnly(member);
    this.#app.log.info('mcp: first contact with a server; its tools are agreed to as they are now', {
      server: server.options.name,
      tools: listing.tools.length,
    });
  }

  async #agree(member: Member, listing: Listing, readOnly: Pin['readOnly']): Promise<void> {
    const { name, settings } = member.server.options;
    await this.#trust.put(name, { identity: identityOf(settings), at: this.#app.clock.now(), listing, readOnly });
    this.#offer(member, listing);
  }

  #isReadOnlyAgreed(member: Member, listing: Listing): boolean {
    const agreed = member.server.options.settings.trusted ? readOnlyIn(listing) : this.#pin(member)?.readOnly;
    return readOnlyIn(listing).every((name) => agreed?.includes(name) === true);
  }

  /** Asks the owner, unless nobody can be asked now or there is nothing to ask. Never rejects. */
  #askReadOnly(member: Member): void {
    const { serving, log } = this.#app;
    const { name, settings } = member.server.options;
    const pin = this.#pin(member);
    if (!serving || pin === undefined || pin.readOnly !== null || member.asking !== undefined) return;
    if (this.#isReadOnlyAgreed(member, pin.listing) || this.#app.people.ownersChat() === undefined) return;
    const ask = async (): Promise<void> => {
      const call = {
        sessionKey: `mcp:${name}`,
        callId: `mcp:${approvalHash({ name, identity: identityOf(settings), listing: listingHash(pin.listing) })}`,
        signal: member.server.closing,
      };
      const { approved } = await this.#app.questions.approve(call, {
        title: `Believe what the MCP server ${name} says of its tools`,
        detail: readOnlyLines(pin.listing).join('\n'),
        reason: `It is new here. You can change your answer later: \`${assistantCommand(`mcp trust ${name}`)}\`.`,
      });
      if (this.#pin(member) === pin) await this.#agree(member, pin.listing, approved ? readOnlyIn(pin.listing) : []);
    };
    member.asking = ask()
      .catch((error: unknown) =>
        log.warn('mcp: the owner was not asked about a server', { server: name, reason: errorMessage(error) }),
      )
      .finally(() => (member.asking = undefined));
  }

  #offer(member: Member, listing: Listing | undefined): void {
    const { server, session, allowed } = member;
    if (listing === undefined || server.closing.aborted) return;
    const { tools: registry, plugins, spill, log } = this.#app;
    withdraw(member);
    // The tools of extensions are registered after all are open; their names are theirs before that too.
    const isTaken = (tool: string): boolean =>
      registry.named(tool, session) !== undefined ||
      plugins.running.some(({ tools: own = [] }) => own.some(({ name }) => name === tool));
    const { trusted } = server.options.settings;
    const agreed = session === undefined ? (this.#pin(member)?.readOnly ?? []) : [];
    const readOnly = trusted && session === undefined ? readOnlyIn(listing) : agreed;
    const { tools, unusable } = toolsOf({ server, listing, readOnly, spill, isTaken, allowed });
    member.offered = tools.map((tool) => {
      const registration = session === undefined ? registry.register(tool) : registry.registerFor(session, tool);
      return { name: tool.name, registration };
    });
    member.unusable = unusable;
    if (unusable.length === 0) return;
    const { name } = server.options;
    log.warn('mcp: tools left out, because no model takes their schemas', { server: name, tools: unusable });
  }

  /** Null while it isn't running. */
  #difference(member: Member): Difference | null {
    const { listing } = member.server;
    return listing === undefined ? null : difference(this.#pin(member)?.listing ?? listing, listing);
  }

  #facts(name: string) {
    const { command, args = [], url } = this.#app.settingsOf(mcpServers)[name] ?? {};
    const member = this.#members.get(name);
    const pin = member && this.#pin(member);
    return {
      name,
      /** The command line, or the address; without secrets. */
      runs: this.#app.redact(url ?? [command, ...args].join(' ')),
      /** `off`: the configuration doesn't use it. */
      state: member?.server.state ?? ('off' as const),
      /** Why it doesn't work. */
      trouble: member?.server.trouble ?? null,
      /** When it was agreed to (milliseconds since 1970) and how many tools it had; null: no contact yet. */
      pinned: pin === undefined ? null : { at: pin.at, tools: pin.listing.tools.length },
      /** Names under which its tools are offered. */
      offered: member?.offered.map((tool) => tool.name) ?? [],
      /** How what it offers now differs from what was agreed to; null: it isn't running, so nobody knows. */
      difference: member === undefined ? null : this.#difference(member),
    };
  }

  #pin({ server: { options } }: Member): Pin | undefined {
    return this.#trust.get(options.name, identityOf(options.settings));
  }

  #member(name: string): Member {
    const member = this.#members.get(name);
    if (member !== undefined) return member;
    const why = Object.hasOwn(this.#app.settingsOf(mcpServers), name)
      ? 'is switched off'
      : 'is not in the configuration';
    throw new AppError('mcp-unknown', `The MCP server ${JSON.stringify(name.slice(0, 64))} ${why} (mcpServers).`);
  }
}

async function startForEditor(member: Member): Promise<EditorServerReport> {
  const { server } = member;
  const name = server.options.name.slice(EDITOR_PREFIX.length);
  try {
    const { listing } = await server.start();
    await server.settle();
    member.listing = server.listing ?? listing;
    return { name, trouble: null, tools: member.listing.tools.length };
  } catch (error) {
    return { name, trouble: server.trouble ?? errorMessage(error), tools: 0 };
  }
}

function withdraw(member: Member): void {
  for (const { registration } of member.offered) registration[Symbol.dispose]();
  member.offered = [];
}

async function leave(member: Member): Promise<void> {
  withdraw(member);
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
