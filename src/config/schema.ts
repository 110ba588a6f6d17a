import * as z from 'zod';
import { agentSchema } from './schema/agent.ts';
import { agentsSchema } from './schema/agents.ts';
import { channelsSchema } from './schema/channels.ts';
import { modelsSchema, providersSchema, voiceSchema } from './schema/models.ts';
import {
  cronSchema,
  gatewaySchema,
  heartbeatSchema,
  homesSchema,
  hooksSchema,
  logSchema,
  pluginsSchema,
  sessionSchema,
} from './schema/service.ts';
import { mcpServersSchema, memorySchema, skillsSchema, toolsSchema } from './schema/tools.ts';
import { storeAddress, takes } from './schema/values.ts';

/**
 * The whole configuration: every key has a default, a line of documentation and a mark that says when a change takes effect
 * (`docs/configuration.md`).
 */
export const configSchema = z.object({
  $schema: takes('live', z.string().optional().describe('For editors.')),
  agent: takes('live', agentSchema),
  agents: takes('rebuild', agentsSchema),
  providers: takes('rebuild', providersSchema),
  models: takes('live', modelsSchema),
  channels: takes('rebuild', channelsSchema),
  tools: takes('restart', toolsSchema),
  mcpServers: takes('rebuild', mcpServersSchema),
  skills: takes('live', skillsSchema),
  memory: takes('restart', memorySchema),
  heartbeat: takes('live', heartbeatSchema),
  cron: takes('live', cronSchema),
  voice: takes('live', voiceSchema),
  gateway: takes('restart', gatewaySchema),
  hooks: takes('live', hooksSchema),
  session: takes('live', sessionSchema),
  plugins: takes('rebuild', pluginsSchema),
  log: takes('restart', logSchema),
  store: takes(
    'restart',
    storeAddress().describe(
      'PostgreSQL that keeps this home, e.g. `postgres://user:password@host/database?sslmode=verify-full`; null: the folder alone has it.',
    ),
  ),
  homes: takes('restart', homesSchema),
});

export type Config = z.output<typeof configSchema>;

/** The schema inside defaults, nulls and transforms: an object, a record, an array, a union or a plain value. */
export function innerSchema(schema: unknown): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return innerSchema(schema.unwrap());
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return innerSchema(schema.unwrap());
  return schema instanceof z.ZodPipe ? innerSchema(schema.in) : schema;
}
