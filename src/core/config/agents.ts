import type { Environment } from './environment.ts';
import { isVariableOfMain } from './environment-keys.ts';
import type { Config } from './schema.ts';
import { kindOf, type Program } from '../program.ts';
import type { AgentSettings } from './schema/agents.ts';

/** What a further assistant sees of the environment: nothing that configures the main one, its channels or its searches. */
export function hostedEnvironment(program: Program, env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([variable]) => !isVariableOfMain(program, variable)));
}

/** The settings of an entry of `agents`, in the shape of a configuration. */
export function ownSettings(entry: AgentSettings): Readonly<Record<string, unknown>> {
  const isOwn = ([key, value]: readonly [string, unknown]): boolean =>
    !['enabled', 'routes'].includes(key) && value !== undefined;
  return Object.fromEntries(Object.entries(entry).filter(isOwn));
}

/** Sections that only the main assistant has: what stands in them in the configuration of another one has no effect. */
export function mainsSections({ sections }: Program): readonly string[] {
  return ['channels', 'agents', 'gateway', ...sections.flatMap(({ path, mainOnly }) => (mainOnly ? [path] : []))];
}

/** Sections that only the folder of a machine has: in the configuration of a home that it runs they have no effect. */
export const MACHINES_SECTIONS = ['store', 'homes'] as const;

/** The channels of a further assistant: those of the main one that it has routes for, without their tokens. */
export function sharedChannels(
  { program, config: host }: { readonly program: Program; readonly config: Config },
  { routes }: Pick<AgentSettings, 'routes'>,
): Config['channels'] {
  const names = new Set(routes.map((route) => routeOf(route).channel));
  return Object.fromEntries(
    Object.entries(host.channels).flatMap(([name, settings]) => {
      if (!names.has(name)) return [];
      const secrets = kindOf(program, settings.kind ?? name)?.secrets ?? [];
      return [[name, { ...settings, ...Object.fromEntries(secrets.map((key) => [key, null])) }]];
    }),
  );
}

/** What a route names: a channel, and one chat of it or all (null). */
export function routeOf(route: string): { readonly channel: string; readonly chatId: string | null } {
  const at = route.indexOf(':');
  return at === -1 ? { channel: route, chatId: null } : { channel: route.slice(0, at), chatId: route.slice(at + 1) };
}
