import { server, mcpWorld } from './mcp-world.ts';

/**
 * A client for the protocol's conformance scenarios, without a person and without a model:
 * `node conformance-client.ts <address of a server>`. It meets the server as the assistant does, calls every tool that is
 * offered and says yes to what is asked. Exit code 0: all that was asked was answered.
 */
const url = process.argv[2];
if (url === undefined) throw new Error('expected the address of a server');

await using world = await mcpWorld({ scenario: server({ url }) });
const { tools } = await world.clients.test('scenario');
for (const { name } of tools) {
  const result = await world.call(
    `mcp_scenario_${name}`,
    { a: 5, b: 3 },
    { approve: async () => ({ approved: true }) },
  );
  process.stdout.write(`${name}: ${result.output}\n`);
  if (result.isError === true) process.exitCode = 1;
}
