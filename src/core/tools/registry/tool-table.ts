import type { Role } from '../../bus/messages.ts';
import type { ToolSpec } from '../../providers/provider.ts';
import { AppError } from '../../util/errors.ts';
import { Held } from '../../util/held.ts';
import { refusalOf, type ToolPolicy } from './decide.ts';
import { toJsonSchema } from './schema.ts';
import type { EffectClass, Tool } from '../tool.ts';

/** A tool with what models are told of it. */
export interface Registered {
  readonly tool: Tool;
  readonly spec: ToolSpec;
}

/** Names of tools in other programs, which models call by habit → our name. */
const ALIASES: Readonly<Record<string, string>> = {
  read: 'read_file',
  write: 'write_file',
  edit: 'edit_file',
  multiedit: 'apply_patch',
  ls: 'list_dir',
  list_directory: 'list_dir',
  bash: 'exec',
  shell: 'exec',
  run_command: 'exec',
  glob: 'glob',
  grep: 'grep',
  websearch: 'web_search',
  webfetch: 'web_fetch',
  fetch: 'web_fetch',
  task: 'spawn',
  'fs.read': 'read_file',
  'fs.write': 'write_file',
  'fs.edit': 'edit_file',
  'fs.list': 'list_dir',
};

/** Our name of a tool that a model calls by the name it has in other programs; another name as it is. */
export function ownName(name: string): string {
  return ALIASES[name.toLowerCase()] ?? name;
}

const NONE: readonly Registered[] = [];

interface TableOptions {
  readonly policy: ToolPolicy;
  /** Each tool as it is registered. @default as it is */
  readonly wrap?: (tool: Tool) => Tool;
}

/** The tools by their names: those that are registered one by one, and those of plugins, which are replaced as a whole. */
export class ToolTable {
  readonly #own = new Map<string, Registered>();
  /** Those of single sessions. */
  readonly #sessions = new Map<string, readonly Registered[]>();
  readonly #plugins = new Held<ReadonlyMap<string, Registered>>(new Map());
  readonly #policy: ToolPolicy;
  readonly #wrap: (tool: Tool) => Tool;
  #list: { readonly plugins: ReadonlyMap<string, Registered>; readonly tools: readonly Registered[] } | undefined;
  /** Memoized specs of each role, by the tools of a session. */
  #specs = new WeakMap<readonly Registered[], Map<Role, { all: readonly Registered[]; specs: readonly ToolSpec[] }>>();

  constructor({ policy, wrap = (tool) => tool }: TableOptions) {
    this.#policy = policy;
    this.#wrap = wrap;
  }

  /** Adds a tool; disposing of the result removes it. Throws when the name is taken or its schema has no JSON Schema. */
  register(given: Tool): Disposable {
    const { name } = given;
    if (this.#own.has(name) || this.#plugins.newest.has(name)) throw taken(name);
    this.#own.set(name, this.#registered(given));
    this.#list = undefined;
    return {
      [Symbol.dispose]: () => {
        this.#own.delete(name);
        this.#list = undefined;
      },
    };
  }

  /** Adds a tool for the calls of one session; disposing of the result removes it. Throws as `register` does. */
  registerFor(session: string, given: Tool): Disposable {
    if (this.named(given.name, session) !== undefined) throw taken(given.name);
    const one = this.#registered(given);
    this.#sessions.set(session, [...this.#ofSession(session), one]);
    return {
      [Symbol.dispose]: () => {
        const left = this.#ofSession(session).filter((other) => other !== one);
        if (left.length === 0) this.#sessions.delete(session);
        else this.#sessions.set(session, left);
      },
    };
  }

  /**
   * Puts the tools of plugins in place of those that were there. Returns what is left out, because its name is taken. Throws
   * when a schema has no JSON Schema.
   */
  setPlugins<Given extends { readonly tool: Tool }>(all: readonly Given[]): readonly Given[] {
    const tools = new Map<string, Registered>();
    const left: Given[] = [];
    for (const given of all) {
      const { name } = given.tool;
      if (tools.has(name) || this.#own.has(name) || this.#own.has(ownName(name))) left.push(given);
      else tools.set(name, this.#registered(given.tool));
    }
    this.#plugins.replace(tools);
    return left;
  }

  /** Does this work with the tools that plugins have now, also when they are replaced meanwhile. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#plugins.hold(work);
  }

  /**
   * The built-in tools and those of plugins by name, then those of MCP servers by name, so that a new one of these keeps the
   * cached prefix of the prompt. The same list until one changes.
   */
  list(): readonly Registered[] {
    const plugins = this.#plugins.now;
    if (this.#list?.plugins !== plugins) {
      const foreign = ({ tool }: Registered): number => (tool.jsonSchema === undefined ? 0 : 1);
      const tools = [...this.#own.values(), ...plugins.values()].toSorted(
        (a, b) => foreign(a) - foreign(b) || (a.tool.name < b.tool.name ? -1 : 1),
      );
      this.#list = { plugins, tools };
    }
    return this.#list.tools;
  }

  /**
   * The specs of the tools that a role may call, in the order of `list`; with a session those of that session alone
   * behind them. The same list until one changes.
   */
  specs(role: Role, session?: string): readonly ToolSpec[] {
    const all = this.list();
    const own = session === undefined ? NONE : this.#ofSession(session);
    const byRole = this.#specs.get(own) ?? new Map();
    const known = byRole.get(role);
    if (known?.all === all) return known.specs;
    const specs = [...all, ...own]
      .filter(({ tool }) => refusalOf(tool, role, this.#policy) === null)
      .map(({ spec }) => spec);
    this.#specs.set(own, byRole.set(role, { all, specs }));
    return specs;
  }

  /** The policy is another one now: what each role may call is looked up anew. */
  policyChanged(): void {
    this.#specs = new WeakMap();
  }

  /** Finds a tool by its name or an alias (`bash` is `exec`); with a session also one of that session alone. */
  named(name: string, session?: string): Tool | undefined {
    const all = this.#own.get(name) ?? this.#plugins.now.get(name) ?? this.#own.get(ownName(name));
    if (all !== undefined || session === undefined) return all?.tool;
    return this.#ofSession(session).find(({ tool }) => tool.name === name)?.tool;
  }

  /** The effect class of a tool; `none` for an unknown name, which runs nothing. */
  effectOf(name: string, session?: string): EffectClass {
    return this.named(name, session)?.effect ?? 'none';
  }

  #ofSession(session: string): readonly Registered[] {
    return this.#sessions.get(session) ?? NONE;
  }

  #registered(given: Tool): Registered {
    const tool = this.#wrap(given);
    const { name, description } = tool;
    return { tool, spec: { name, description, parameters: tool.jsonSchema ?? toJsonSchema(tool.parameters) } };
  }
}

function taken(name: string): AppError {
  return new AppError('tool-exists', `There is a tool named ${name} already.`);
}
