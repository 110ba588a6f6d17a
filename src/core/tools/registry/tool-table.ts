import type { ToolSpec } from '../../providers/provider.ts';
import { AppError } from '../../util/errors.ts';
import { Held } from '../../util/held.ts';
import { ownName } from './aliases.ts';
import { toJsonSchema } from './schema.ts';
import type { Tool } from '../tool.ts';

/** A tool with what models are told of it. */
export interface Registered {
  readonly tool: Tool;
  readonly spec: ToolSpec;
}

const NONE: readonly Registered[] = [];

/** The tools by their names: those that are registered one by one, and those of plugins, which are replaced as a whole. */
export class ToolTable {
  readonly #own = new Map<string, Registered>();
  /** Those of single sessions. */
  readonly #sessions = new Map<string, readonly Registered[]>();
  readonly #plugins = new Held<ReadonlyMap<string, Registered>>(new Map());
  readonly #wrap: (tool: Tool) => Tool;
  #list: { readonly plugins: ReadonlyMap<string, Registered>; readonly tools: readonly Registered[] } | undefined;

  /** `wrap`: each tool as it is registered. @default as it is */
  constructor(wrap: (tool: Tool) => Tool = (tool) => tool) {
    this.#wrap = wrap;
  }

  /** Adds a tool; disposing of the result removes it. Throws when the name is taken or its schema has no JSON Schema. */
  register(given: Tool): Disposable {
    const { name } = given;
    if (this.#own.has(name) || this.#plugins.newest.has(name)) {
      throw new AppError('tool-exists', `There is a tool named ${name} already.`);
    }
    this.#own.set(name, this.#registered(given));
    this.#list = undefined;
    return {
      [Symbol.dispose]: () => {
        this.#own.delete(name);
        this.#list = undefined;
      },
    };
  }

  /**
   * Puts the tools of plugins in place of those that were there. Returns what is left out, because its name is taken. Throws
   * when a schema has no JSON Schema.
   */
  setPlugins<Given extends { readonly tool: Tool }>(all: readonly Given[]): readonly Given[] {
    const tools = new Map<string, Registered>();
    const taken: Given[] = [];
    for (const given of all) {
      const { name } = given.tool;
      if (tools.has(name) || this.#own.has(name) || this.#own.has(ownName(name))) taken.push(given);
      else tools.set(name, this.#registered(given.tool));
    }
    this.#plugins.replace(tools);
    return taken;
  }

  /** Does this work with the tools that plugins have now, also when they are replaced meanwhile. */
  hold<T>(work: () => Promise<T>): Promise<T> {
    return this.#plugins.hold(work);
  }

  /** The built-in tools and those of plugins by name, then those of MCP servers by name. The same list until one changes. */
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

  /** Adds a tool for the calls of one session; disposing of the result removes it. Throws as `register` does. */
  registerFor(session: string, given: Tool): Disposable {
    const { name } = given;
    if (this.find(name, session) !== undefined)
      throw new AppError('tool-exists', `There is a tool named ${name} already.`);
    const one = this.#registered(given);
    this.#sessions.set(session, [...this.ofSession(session), one]);
    return {
      [Symbol.dispose]: () => {
        const left = this.ofSession(session).filter((other) => other !== one);
        if (left.length === 0) this.#sessions.delete(session);
        else this.#sessions.set(session, left);
      },
    };
  }

  /** The tools of one session alone. The same list until one changes. */
  ofSession(session: string): readonly Registered[] {
    return this.#sessions.get(session) ?? NONE;
  }

  /** Finds a tool by its name or an alias (`bash` is `exec`); with a session also one of that session alone. */
  find(name: string, session?: string): Tool | undefined {
    const all = this.#own.get(name) ?? this.#plugins.now.get(name) ?? this.#own.get(ownName(name));
    if (all !== undefined || session === undefined) return all?.tool;
    return this.ofSession(session).find(({ tool }) => tool.name === name)?.tool;
  }

  #registered(given: Tool): Registered {
    const tool = this.#wrap(given);
    const { name, description } = tool;
    return { tool, spec: { name, description, parameters: tool.jsonSchema ?? toJsonSchema(tool.parameters) } };
  }
}
