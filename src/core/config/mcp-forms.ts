import type * as z from 'zod';
import { asFlag } from '../util/text.ts';

/** Servers of `mcpServers` as other programs write them, in this program's own form. */
export function withOwnForms(settings: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { mcpServers } = settings;
  if (!isObject(mcpServers)) return settings;
  const servers = Object.entries(mcpServers).map(([name, server]) => [name, isObject(server) ? own(server) : server]);
  return { ...settings, mcpServers: Object.fromEntries(servers) };
}

const TYPES: Readonly<Record<string, string>> = {
  streamableHttp: 'streamable-http',
  streamable_http: 'streamable-http',
};

function own(server: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { serverUrl, httpUrl, transport, ...written } = server;
  const { rest, enabled } = switchOf(written);
  const type = rest['type'] ?? transport;
  return {
    ...rest,
    ...(enabled === undefined ? {} : { enabled }),
    ...(type === undefined ? {} : { type: typeof type === 'string' ? (TYPES[type] ?? type) : type }),
    ...(rest['url'] === undefined && (serverUrl ?? httpUrl) !== undefined ? { url: serverUrl ?? httpUrl } : {}),
  };
}

/** Switches of other programs, and what they say when they are on. */
const SWITCHES: Readonly<Record<string, boolean>> = { enabled: true, isActive: true, disabled: false };

/** Takes the switches out; one off is off. A switch that is neither on nor off stays for the schema or `unreadSwitches`. */
function switchOf(server: Readonly<Record<string, unknown>>): {
  readonly rest: Readonly<Record<string, unknown>>;
  readonly enabled: boolean | undefined;
} {
  const rest = { ...server };
  let enabled: boolean | undefined;
  for (const [key, whenOn] of Object.entries(SWITCHES)) {
    const flag = asFlag(rest[key]);
    if (flag !== undefined) enabled = enabled !== false && flag === whenOn;
    if (flag !== undefined || (rest[key] === null && key !== 'enabled')) delete rest[key];
  }
  return { rest, enabled };
}

/** A problem for each switch of another program that `withOwnForms` couldn't read: ignoring it could start the server. */
export function unreadSwitches({ mcpServers }: Readonly<Record<string, unknown>>): readonly z.core.$ZodIssue[] {
  if (!isObject(mcpServers)) return [];
  return Object.entries(mcpServers).flatMap(([name, server]) =>
    Object.keys(isObject(server) ? server : {})
      .filter((key) => key !== 'enabled' && Object.hasOwn(SWITCHES, key))
      .map((key) => ({ code: 'invalid_type', expected: 'boolean', path: ['mcpServers', name, key], message: '' })),
  );
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
