import { assistantCommand } from '../../util/assistant-command.ts';
import { backoffMs } from '../../util/backoff.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { AppError } from '../../util/errors.ts';
import type { Logger } from '../../util/log.ts';
import type { Random } from '../../util/random.ts';
import { nearest, plural } from '../../util/text.ts';
import type { StreamingFetch } from '../../security/fetch/fetch.ts';
import type { Tool } from '../tool.ts';
import { difference, differs, hashOfJson, listingHash, type Listing } from './listing.ts';
import type { Difference, ServerFacts, ServerReport } from './server-facts.ts';
import { TrustStore } from './trust-store.ts';
import type { KeepFile } from './result.ts';
import { McpServer } from './server.ts';
import type { McpSettings } from './stdio.ts';
import { toolsOf } from './tools.ts';

export interface McpClientsOptions {
  /** The enabled servers, by name. */
  readonly servers: Readonly<Record<string, McpSettings>>;
  readonly registry: { readonly register: (tool: Tool) => Disposable; readonly named: (name: string) => unknown };
  readonly pins: { readonly path: string; readonly quarantine: string };
  /** What local servers see of our environment. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workspace: string;
  readonly version: string;
  /** For a server at this address; reaches its host and nothing else that is private. */
  readonly fetchFor: (url: URL, settings: McpSettings) => StreamingFetch;
  readonly keep: KeepFile;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly redact: (text: string) => string;
  /** See `McpServerOptions`. @default 500 */
  readonly settleMs?: number;
}

interface Member {
  readonly settings: McpSettings;
  readonly server: McpServer;
  offered: readonly { readonly name: string; readonly registration: Disposable }[];
  /** Names of the server's tools that no model could be shown. */
  unusable: readonly string[];
  meeting: Promise<void> | undefined;
  connecting: Promise<void> | undefined;
  /** The difference that the log has told of. */
  loggedHash: string;
  /** Is aborted when it is taken out. */
  readonly leaving: AbortController;
}

const RETRY = { firstMs: 5_000, maxMs: 300_000 };
const NEVER = new AbortController().signal;

/** All MCP servers of a configuration, and the tools that were agreed to. */
export class McpClients implements AsyncDisposable {
  readonly #options: McpClientsOptions;
  readonly #pins: TrustStore;
  readonly #members = new Map<string, Member>();
  readonly #closing = new AbortController();

  private constructor(options: McpClientsOptions, pins: TrustStore) {
    this.#options = options;
    this.#pins = pins;
    for (const [name, settings] of Object.entries(options.servers)) this.#join(name, settings);
  }

  /** Registers what was agreed to earlier; starts nothing. */
  static async open(options: McpClientsOptions): Promise<McpClients> {
    const pins = await TrustStore.read({
      ...options.pins,
      identities: Object.fromEntries(Object.entries(options.servers).map(([name, one]) => [name, identityOf(one)])),
      now: () => options.clock.now(),
      onDamage: (kept) =>
        options.log.error('mcp: the file of agreed tools was damaged; they are off until you agree again', { kept }),
    });
    const clients = new McpClients(options, pins);
    for (const [name, member] of clients.#members) clients.#offerAgreed(name, member);
    return clients;
  }

  /** Stops the server of this name with its calls, and takes `settings` in its place; undefined: nothing. Others are not touched. */
  async replace(name: string, settings: McpSettings | undefined): Promise<void> {
    const before = this.#members.get(name);
    this.#members.delete(name);
    if (before !== undefined) {
      for (const { registration } of before.offered) registration[Symbol.dispose]();
      await leave(before);
    }
    if (settings === undefined || this.#closing.signal.aborted) return;
    this.#pins.identify(name, identityOf(settings));
    this.#offerAgreed(name, this.#join(name, settings));
  }

  /**
   * Starts the servers without an approved listing, in parallel, and approves what they offer; retries until that
   * works.
   */
  connectNew(): void {
    for (const [name, member] of this.#members) {
      if (this.#pins.get(name) === undefined) member.connecting ??= this.#connectNewServer(name, member);
    }
  }

  list(): readonly ServerFacts[] {
    return [...this.#members].map(([name, member]) => this.#facts(name, member));
  }

  /** Starts it if need be and tells what it offers. Throws one sentence when it does not work. */
  async test(name: string): Promise<ServerReport> {
    const member = this.#member(name);
    const live = await member.server.use(NEVER, { now: true });
    if (this.#pins.get(name) === undefined) await this.#firstContact(name, member);
    else if (differs(this.#difference(name, live.listing()))) await member.server.settle(NEVER);
    const listing = live.listing();
    const { added, changed } = this.#difference(name, listing);
    const stateOf = (tool: string): ServerReport['tools'][number]['state'] =>
      added.includes(tool)
        ? 'added'
        : changed.includes(tool)
          ? 'changed'
          : member.unusable.includes(tool)
            ? 'unusable'
            : 'agreed';
    const { redact } = this.#options;
    return {
      ...this.#facts(name, member),
      is: redact(live.connection.server),
      tools: listing.tools.map((tool) => ({
        name: tool.name,
        description: redact(tool.description),
        parameters: tool.inputSchema,
        state: stateOf(tool.name),
      })),
      resources: listing.resources,
      prompts: listing.prompts,
      hash: listingHash(listing),
    };
  }

  /**
   * Takes what the server offers now as agreed, and offers it. Throws `mcp-changed` when that is not what `hash` names:
   * no one agrees to something other than was shown.
   */
  async trust(name: string, hash: string): Promise<Difference> {
    const member = this.#member(name);
    const live = await member.server.use(NEVER, { now: true });
    const listing = live.listing();
    if (listingHash(listing) !== hash) {
      throw new AppError('mcp-changed', `What ${name} offers has changed again meanwhile: look at it once more.`);
    }
    const before = this.#difference(name, listing);
    await this.#pins.put(name, listing);
    this.#offer(name, member, listing);
    this.#options.log.info('mcp: the owner agreed to the tools of a server', { server: name, ...before });
    return before;
  }

  /** One sentence for each server that does not work or offers something else than was agreed to. */
  troubles(): readonly string[] {
    return [...this.#members].flatMap(([name, { server }]) => {
      const { trouble, listing } = server;
      if (trouble !== null) return [`The MCP server ${name} does not work: ${trouble}.`];
      if (listing === undefined || this.#pins.get(name) === undefined) return [];
      const { added, changed } = this.#difference(name, listing);
      const off = added.length + changed.length;
      if (off === 0) return [];
      return [
        `The MCP server ${name} has ${plural(off, 'new or changed tool')} that ${off === 1 ? 'is' : 'are'} off until you agree: ${assistantCommand(`mcp trust ${name}`)}`,
      ];
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all(Array.from(this.#members.values(), leave));
  }

  #join(name: string, settings: McpSettings): Member {
    const member: Member = {
      settings,
      server: this.#server(name, settings),
      offered: [],
      unusable: [],
      meeting: undefined,
      connecting: undefined,
      loggedHash: '',
      leaving: new AbortController(),
    };
    this.#members.set(name, member);
    return member;
  }

  #offerAgreed(name: string, member: Member): void {
    const pin = this.#pins.get(name);
    if (pin !== undefined) this.#offer(name, member, pin.listing);
  }

  async #connectNewServer(name: string, member: Member): Promise<void> {
    const { clock, random } = this.#options;
    const ended = AbortSignal.any([this.#closing.signal, member.leaving.signal]);
    for (let failures = 1; !ended.aborted; failures += 1) {
      try {
        await this.#firstContact(name, member);
        return;
      } catch {
        // The server has told the log; it may only be early.
        await sleep(clock, backoffMs(failures, RETRY, random), ended).catch(() => {});
      }
    }
  }

  #server(name: string, settings: McpSettings): McpServer {
    const { environment, workspace, version, fetchFor, settleMs } = this.#options;
    const fetch: StreamingFetch = (url, init) => {
      return fetchFor(new URL(settings.url ?? ''), settings)(url, init);
    };
    return new McpServer(this.#options, {
      name,
      settings,
      settleMs,
      connectOptions: { environment, workspace, version, fetch },
      onListing: (listing) => this.#compare(name, listing),
    });
  }

  /** First contact: who wrote the server into the configuration wants what it offers. */
  #firstContact(name: string, member: Member): Promise<void> {
    const meet = async (): Promise<void> => {
      const { server } = member;
      const live = await server.use(NEVER, { now: true });
      await server.settle(NEVER);
      if (this.#pins.get(name) !== undefined) return;
      const listing = live.listing();
      if (member.leaving.signal.aborted) return;
      await this.#pins.put(name, listing);
      if (!member.leaving.signal.aborted) this.#offer(name, member, listing);
      const { log } = this.#options;
      log.info('mcp: first contact with a server; its tools are agreed to as they are now', {
        server: name,
        tools: listing.tools.length,
      });
    };
    member.meeting ??= meet().finally(() => (member.meeting = undefined));
    return member.meeting;
  }

  #offer(name: string, member: Member, listing: Listing): void {
    const { registry, keep, log } = this.#options;
    for (const { registration } of member.offered) registration[Symbol.dispose]();
    member.offered = [];
    const { server, settings } = member;
    const isTaken = (tool: string): boolean => registry.named(tool) !== undefined;
    const { tools, unusable } = toolsOf(listing, { name, settings, server, keep, isTaken });
    member.offered = tools.map((tool) => ({ name: tool.name, registration: registry.register(tool) }));
    member.unusable = unusable;
    if (unusable.length > 0) {
      log.warn('mcp: tools left out, because no model takes their schemas', {
        server: name,
        tools: unusable,
      });
    }
  }

  #compare(name: string, listing: Listing): void {
    const member = this.#members.get(name);
    if (member === undefined || this.#pins.get(name) === undefined) return;
    const found = this.#difference(name, listing);
    const hash = hashOfJson(found);
    if (!differs(found) || member.loggedHash === hash) return;
    member.loggedHash = hash;
    this.#options.log.warn('mcp: server offers other tools than were agreed to; new and changed ones are off', {
      server: name,
      ...found,
    });
  }

  #difference(name: string, listing: Listing): Difference {
    const pin = this.#pins.get(name);
    return difference(pin?.listing ?? listing, listing);
  }

  #facts(name: string, { server, settings, offered }: Member): ServerFacts {
    const pin = this.#pins.get(name);
    const { listing } = server;
    return {
      name,
      runs: this.#options.redact(settings.url ?? [settings.command, ...settings.args].join(' ')),
      state: server.state,
      trouble: server.trouble,
      pinned: pin === undefined ? null : { at: pin.at, tools: pin.listing.tools.length },
      offered: offered.map((tool) => tool.name),
      difference: listing === undefined ? null : this.#difference(name, listing),
    };
  }

  #member(name: string): Member {
    const member = this.#members.get(name);
    if (member !== undefined) return member;
    const known = [...this.#members.keys()];
    const guess = nearest(name, known);
    const hint =
      guess !== undefined
        ? `Did you mean ${guess}?`
        : known.length === 0
          ? 'None is configured.'
          : `There are: ${known.join(', ')}.`;
    throw new AppError('mcp-unknown', `No MCP server ${JSON.stringify(name.slice(0, 64))} is in use. ${hint}`);
  }
}

async function leave({ server, connecting, leaving }: Member): Promise<void> {
  leaving.abort();
  await server[Symbol.asyncDispose]();
  await connecting;
}

/** What makes it another server: what is started or reached, not how. */
function identityOf({ command, args, cwd, url }: McpSettings): string {
  return hashOfJson(url === undefined ? { command, args, cwd } : { url });
}
