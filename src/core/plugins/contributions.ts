import { type Finding, warning } from '../util/finding.ts';
import type { ChatCommand } from '../agent/commands/command.ts';
import { isBuiltInCommand } from '../agent/commands/table.ts';
import { ChannelError } from '../channels/channel.ts';
import type { ChannelKinds } from '../channels/registry.ts';
import type { Plugin, PluginChannel, PluginCommand, RoutePart } from './plugin.ts';
import type { PluggedProvider, PluggedProviders } from '../providers/plugged.ts';
import type { Presets } from '../providers/presets.ts';
import type { TapeStore } from '../session/stored-tapes.ts';
import type { AccessSettings } from '../security/access/access.ts';
import { isOwnersChannel } from '../util/owners-channels.ts';
import { errorMessage } from '../util/errors.ts';

/** A route that a plugin serves. */
export interface ServedRoute {
  /** The name of the plugin. */
  readonly owner: string;
  /** Only `true` lets a caller without a login in; null: no one is. */
  readonly allows: ((request: Request, part: RoutePart) => unknown) | null;
  readonly refusal: { readonly code: string; readonly message: string } | undefined;
  readonly handle: (request: Request, part: RoutePart) => Response | Promise<Response>;
  readonly part: RoutePart;
}

export interface PluginRoutes {
  readonly find: (method: string, path: string) => ServedRoute | undefined;
}

/** What the running plugins bring, without what exists already. */
export interface Contributions {
  /** Kinds of channels. */
  readonly kinds: ChannelKinds;
  readonly commands: readonly ChatCommand[];
  /** Kinds of providers. */
  readonly providers: PluggedProviders;
  /** Absolute paths of folders with skills. */
  readonly skills: readonly string[];
  readonly routes: PluginRoutes;
  /** What keeps the tapes too, and the name of its plugin; null: none. */
  readonly tapeStore: { readonly owner: string; readonly store: TapeStore } | null;
  /** Each thing that exists already and is left out. */
  readonly clashes: readonly Clash[];
}

/** Something that a plugin adds and that exists already. */
export interface Clash {
  /** Name of the plugin. */
  readonly owner: string;
  /** E.g. `the tool "exec"`. */
  readonly what: string;
}

/** The sentence for people. */
export function clashFinding({ owner, what }: Clash): Finding {
  const says = `The plugin "${owner}" adds ${what}, which exists already.`;
  return { id: 'plugins.there', ...warning(says), facts: { plugin: owner } };
}

export const NO_CONTRIBUTIONS: Contributions = {
  kinds: {},
  commands: [],
  providers: {},
  skills: [],
  routes: { find: () => undefined },
  tapeStore: null,
  clashes: [],
};

/** Joins what plugins bring with what each part needs. The plugin that is listed first keeps a name. */
export function contributionsOf(
  plugins: readonly Plugin[],
  {
    presets,
    peopleOf,
  }: { readonly presets: Presets; readonly peopleOf: (channel: string) => AccessSettings | undefined },
): Contributions {
  const kinds: Record<string, ChannelKinds[string]> = {};
  const commands = new Map<string, ChatCommand>();
  const providers: Record<string, PluggedProvider> = {};
  let tapeStore: Contributions['tapeStore'] = null;
  const clashes: Clash[] = [];
  for (const plugin of plugins) {
    const { name } = plugin;
    const isFree = (isTaken: boolean, what: string): boolean => {
      if (isTaken) clashes.push({ owner: name, what });
      return !isTaken;
    };
    for (const channel of plugin.channels ?? []) {
      const { kind } = channel;
      const isTaken = isOwnersChannel(kind) || Object.hasOwn(kinds, kind);
      if (isFree(isTaken, `the kind of channel "${kind}"`)) kinds[kind] = pluggedKind(channel, peopleOf);
    }
    for (const command of plugin.commands ?? []) {
      const isTaken = (plugin.isBuiltIn !== true && isBuiltInCommand(command.name)) || commands.has(command.name);
      if (isFree(isTaken, `the command /${command.name}`)) commands.set(command.name, chatCommand(command));
    }
    const { tapeStore: store } = plugin;
    if (store !== undefined && isFree(tapeStore !== null, 'a store of conversations'))
      tapeStore = { owner: name, store };
    for (const { kind, open } of plugin.providers ?? []) {
      const isTaken = presets.has(kind) || Object.hasOwn(providers, kind);
      if (isFree(isTaken, `the kind of provider "${kind}"`)) providers[kind] = { owner: name, open };
    }
  }
  return {
    kinds,
    commands: [...commands.values()],
    providers,
    skills: plugins.flatMap(({ skills }) => (skills === undefined ? [] : [skills])),
    routes: routesOf(plugins),
    tapeStore,
    clashes,
  };
}

function chatCommand(given: PluginCommand | ChatCommand): ChatCommand {
  if ('priority' in given) return given;
  const { name, description, role = 'owner', run } = given;
  return {
    name,
    description,
    role,
    priority: false,
    interrupts: false,
    run: async ({ args, message, signal }) => {
      const { channel, chatId, threadId, sender, sessionKey } = message;
      return await run({
        args,
        sessionKey,
        chat: { channel, chatId, ...(threadId === undefined ? {} : { threadId }) },
        sender: { id: sender.id, ...(sender.name === undefined ? {} : { name: sender.name }) },
        role: message.role,
        signal,
      });
    },
  };
}

/** Routes by `METHOD /plugins/<package>/path`. */
function routesOf(plugins: readonly Plugin[]): PluginRoutes {
  const routes: {
    readonly method: string;
    readonly parts: readonly string[];
    readonly served: Omit<ServedRoute, 'part'>;
  }[] = [];
  for (const { name, routes: its = [], isBuiltIn: anywhere } of plugins) {
    for (const { method, path, allows, refusal, handle } of its) {
      const whole = anywhere === true ? path : `/plugins/${name}${path}`;
      routes.push({
        method,
        parts: whole.split('/'),
        served: { owner: name, allows: allows ?? null, refusal, handle },
      });
    }
  }
  return {
    find: (asked, path) => {
      // The server leaves out the body itself.
      const method = asked === 'HEAD' ? 'GET' : asked;
      const parts = path.split('/');
      const found = routes.find((route) => route.method === method && fits(route.parts, parts));
      if (found === undefined) return undefined;
      const part = (key: string): string => decodeURIComponent(parts[found.parts.indexOf(`:${key}`)] ?? '');
      return { ...found.served, part };
    },
  };
}

function fits(pattern: readonly string[], parts: readonly string[]): boolean {
  return pattern.length === parts.length && pattern.every((one, at) => one.startsWith(':') || one === parts[at]);
}

function pluggedKind(
  { shows, open }: PluginChannel,
  peopleOf: (channel: string) => AccessSettings | undefined,
): ChannelKinds[string] {
  return {
    shows,
    open: async (name, settings) => {
      try {
        const { openWithKit } = await import('./plugin-kit.ts');
        return await openWithKit(open, { name, settings, access: peopleOf(name) });
      } catch (error) {
        if (error instanceof ChannelError) throw error;
        throw new ChannelError(`channels.${name}: ${errorMessage(error)}`, { retry: false, cause: error });
      }
    },
  };
}
