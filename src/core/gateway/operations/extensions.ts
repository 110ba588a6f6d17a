import * as z from 'zod';
import type { ServerFacts, ServerReport } from '../../tools/mcp/pool.ts';
import type { Difference } from '../../tools/mcp/listing.ts';
import { answers } from './operation.ts';

const name = z.string().describe('Name of the server in the configuration.');

export const extensions = {
  mcpList: answers<readonly ServerFacts[]>()({
    description: 'Lists the MCP servers of the configuration, each with its state.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
  mcpTest: answers<ServerReport>()({
    description:
      'Starts an MCP server and returns what it offers; `mcp-unknown` for another name, `mcp-server` if it does not work.',
    role: 'owner',
    changes: false,
    params: z.object({ name }),
  }),
  mcpTrust: answers<Difference>()({
    description:
      'Approves the tools that an MCP server offers now, if they are those that a test showed; `mcp-changed` if they are not.',
    role: 'owner',
    changes: true,
    params: z.object({ name, hash: z.string().describe('The `hash` that `mcpTest` returned.') }),
  }),
  pluginsList: answers<
    readonly {
      readonly name: string;
      /** Null: there is no such package. */
      readonly version: string | null;
      readonly state: 'running' | 'not enabled' | 'failed' | 'safe mode' | 'waits for a restart';
    }[]
  >()({
    description: 'Lists the packages in the folder of plugins, and those that the configuration names.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
};
