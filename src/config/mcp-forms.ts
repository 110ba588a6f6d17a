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
  const { disabled, serverUrl, httpUrl, transport, ...rest } = server;
  const type = rest['type'] ?? transport;
  return {
    ...rest,
    ...(typeof disabled === 'boolean' ? { enabled: rest['enabled'] !== false && !disabled } : {}),
    ...(type === undefined ? {} : { type: typeof type === 'string' ? (TYPES[type] ?? type) : type }),
    ...(rest['url'] === undefined && (serverUrl ?? httpUrl) !== undefined ? { url: serverUrl ?? httpUrl } : {}),
  };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
