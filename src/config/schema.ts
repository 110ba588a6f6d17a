import * as z from 'zod';
import { agentSchema } from './schema/agent.ts';
import { channelsSchema } from './schema/channels.ts';
import { modelsSchema, providersSchema, voiceSchema } from './schema/models.ts';
import {
  cronSchema,
  gatewaySchema,
  heartbeatSchema,
  hooksSchema,
  logSchema,
  pluginsSchema,
  sessionSchema,
} from './schema/service.ts';
import { mcpServersSchema, memorySchema, skillsSchema, toolsSchema } from './schema/tools.ts';

/** The whole configuration: every key has a default and a line of documentation (`docs/configuration.md`). */
export const configSchema = z.object({
  $schema: z.string().optional().describe('For editors.'),
  agent: agentSchema,
  providers: providersSchema,
  models: modelsSchema,
  channels: channelsSchema,
  tools: toolsSchema,
  mcpServers: mcpServersSchema,
  skills: skillsSchema,
  memory: memorySchema,
  heartbeat: heartbeatSchema,
  cron: cronSchema,
  voice: voiceSchema,
  gateway: gatewaySchema,
  hooks: hooksSchema,
  session: sessionSchema,
  plugins: pluginsSchema,
  log: logSchema,
});

export type Config = z.output<typeof configSchema>;

/** The schema inside defaults, nulls and transforms: an object, a record, an array, a union or a plain value. */
export function innerSchema(schema: unknown): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return innerSchema(schema.unwrap());
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return innerSchema(schema.unwrap());
  return schema instanceof z.ZodPipe ? innerSchema(schema.in) : schema;
}
