import { asFlag } from '../../core/api.ts';
import { isObject } from './messages.ts';

/** Servers of `mcpServers` as other programs write them, in this program's own form. */
export function ownForms(servers: unknown): unknown {
  if (!isObject(servers)) return servers;
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [name, isObject(server) ? own(server) : server]),
  );
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

/** The switches of another program that `ownForms` couldn't read: ignoring one could start the server. */
export function unreadSwitches(servers: unknown): readonly (readonly string[])[] {
  return Object.entries(isObject(servers) ? servers : {}).flatMap(([name, server]) =>
    Object.keys(isObject(server) ? server : {})
      .filter((key) => key !== 'enabled' && Object.hasOwn(SWITCHES, key))
      .map((key) => [name, key]),
  );
}
