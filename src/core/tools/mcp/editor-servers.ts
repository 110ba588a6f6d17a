import type { EditorServer, EditorServerReport } from '../../bus/editor.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { errorMessage } from '../../util/errors.ts';
import type { ApprovalRequest, Tool } from '../tool.ts';
import type { McpClientsOptions } from './client-pool.ts';
import { McpServer } from './server.ts';
import type { McpSettings } from './stdio.ts';
import { toolsOf } from './tools.ts';

export interface EditorServersOptions extends Pick<
  McpClientsOptions,
  'environment' | 'version' | 'fetchFor' | 'keep' | 'clock' | 'random' | 'log' | 'redact' | 'settleMs'
> {
  readonly registry: {
    readonly registerFor: (session: string, tool: Tool) => Disposable;
    readonly named: (name: string, session: string) => unknown;
  };
  /** The folder in which the local servers of a session start. */
  readonly folderOf: (session: string) => string;
}

/** The same deadlines as a server of the configuration has by default. */
const TIMEOUTS = { startSeconds: 60, callSeconds: 120 };

/** One server of an attached editor. */
interface Brought {
  readonly name: string;
  readonly settings: McpSettings;
  readonly server: McpServer;
  /** Names of its tools that the owner said yes to. */
  readonly agreed: Set<string>;
}

/** What one attached editor brought. */
interface Group {
  readonly brought: readonly Brought[];
  readonly started: Promise<readonly EditorServerReport[]>;
  offered: readonly Disposable[];
}

/**
 * The MCP servers that editors bring to their conversations. They run while the editor is attached; their tools are
 * offered to its session alone, and the first use of each is asked about. Nothing of them is kept.
 */
export class EditorServers implements AsyncDisposable {
  readonly #options: EditorServersOptions;
  /** By session, the newest last: of several editors only its servers are offered. */
  readonly #groups = new Map<string, Group[]>();
  readonly #ending = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: EditorServersOptions) {
    this.#options = options;
  }

  /** Starts these servers, and ends them when the result is disposed of. */
  attach(session: string, servers: readonly EditorServer[]): Disposable {
    const brought = servers.map((server) => this.#brought(session, server));
    const gone = new AbortController();
    const group: Group = {
      brought,
      started: Promise.all(brought.map((one) => start(one, AbortSignal.any([gone.signal, this.#closing.signal])))),
      offered: [],
    };
    this.#groups.set(session, [...(this.#groups.get(session) ?? []), group]);
    void group.started.then(() => this.#offerNewest(session));
    return {
      [Symbol.dispose]: () => {
        gone.abort();
        const left = (this.#groups.get(session) ?? []).filter((one) => one !== group);
        if (left.length === 0) this.#groups.delete(session);
        else this.#groups.set(session, left);
        withdraw(group);
        this.#offerNewest(session);
        const ended = Promise.all(brought.map(({ server }) => server[Symbol.asyncDispose]()))
          .catch(() => {})
          .then(() => void this.#ending.delete(ended));
        this.#ending.add(ended);
      },
    };
  }

  /** Resolves when the servers of the newest editor of a session run or have failed. */
  async started(session: string): Promise<readonly EditorServerReport[]> {
    return (await this.#groups.get(session)?.at(-1)?.started) ?? [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const all = [...this.#groups.values()].flat();
    this.#groups.clear();
    for (const group of all) withdraw(group);
    await Promise.all(all.flatMap(({ brought }) => brought.map(({ server }) => server[Symbol.asyncDispose]())));
    await Promise.all(this.#ending);
  }

  #offerNewest(session: string): void {
    const groups = this.#groups.get(session) ?? [];
    for (const group of groups) withdraw(group);
    const newest = groups.at(-1);
    if (newest !== undefined) newest.offered = newest.brought.flatMap((one) => this.#offer(session, one));
  }

  #offer(session: string, { name, settings, server, agreed }: Brought): readonly Disposable[] {
    const { registry, keep, log } = this.#options;
    const { listing } = server;
    if (listing === undefined) return [];
    const isTaken = (tool: string): boolean => registry.named(tool, session) !== undefined;
    const remedy = 'The owner opens the conversation in the editor again to use what it offers now.';
    const { tools, unusable } = toolsOf(listing, { name, settings, server, keep, isTaken, remedy });
    if (unusable.length > 0)
      log.warn('mcp: tools of an editor left out, because no model takes their schemas', {
        server: name,
        tools: unusable,
      });
    return tools.map((tool) => registry.registerFor(session, asking(tool, name, agreed)));
  }

  #brought(session: string, given: EditorServer): Brought {
    const { environment, version, fetchFor, settleMs, folderOf } = this.#options;
    const name = `editor_${given.name}`;
    const settings = settingsOf(given);
    const server = new McpServer(this.#options, {
      name,
      settings,
      settleMs,
      connectOptions: {
        environment,
        workspace: folderOf(session),
        version,
        fetch: (url, init) => fetchFor(new URL(settings.url ?? ''), settings)(url, init),
      },
      onListing: () => {},
    });
    return { name, settings, server, agreed: new Set() };
  }
}

async function start({ name, server }: Brought, signal: AbortSignal): Promise<EditorServerReport> {
  const shown = name.replace(/^editor_/u, '');
  try {
    const live = await server.use(signal, { now: true });
    await server.settle(signal);
    return { name: shown, trouble: null, tools: live.listing().tools.length };
  } catch (error) {
    return { name: shown, trouble: server.trouble ?? errorMessage(error), tools: 0 };
  }
}

function withdraw(group: Group): void {
  for (const registration of group.offered) registration[Symbol.dispose]();
  group.offered = [];
}

/** The tool, of which the first use is asked about. */
function asking(tool: Tool, server: string, agreed: Set<string>): Tool {
  const { name } = tool;
  const question = (params: unknown): ApprovalRequest => ({
    title: 'Use a tool of the editor',
    detail: escapeControlChars(`${name}\n${JSON.stringify(params, null, 2)}`),
    reason: `it is the first use of a tool of ${server}, an MCP server that the editor brought and nobody looked through`,
  });
  const plan: Tool['plan'] = async (params, context) => {
    const planned = await tool.plan(params, context);
    if ('denied' in planned) return planned;
    if (agreed.has(name)) return { ...planned, allowedBy: 'its first use was allowed' };
    return {
      ...planned,
      asks: question(params),
      run: (signal) => {
        if (context.approval !== null) agreed.add(name);
        return planned.run(signal);
      },
    };
  };
  // A copy would make the schema of each tool at once.
  return Object.create(tool, { plan: { value: plan } }) as Tool;
}

function settingsOf(given: EditorServer): McpSettings {
  const common = { cwd: null, tools: ['*'], role: 'owner', trusted: false, timeouts: TIMEOUTS } as const;
  if ('url' in given) {
    const { type, url, headers } = given;
    return { ...common, type, url, headers, args: [], env: {} };
  }
  const { command, args, env } = given;
  return { ...common, type: 'stdio', command, args, env, headers: {} };
}
