import * as z from 'zod';
import { agentSchema } from './schema/agent.ts';
import { agentsSchema } from './schema/agents.ts';
import { channelsSchema, type ChannelSettingsKind } from './schema/channels.ts';
import { modelsSchema, providersSchema } from './schema/models.ts';
import { gatewaySchema, homesSchema, logSchema, pluginsSchema, sessionSchema } from './schema/service.ts';
import { memorySchema, skillsSchema, toolsSchema } from './schema/tools.ts';
import { flag, markedEffect, storeAddress, takes, type Effect } from './schema/values.ts';

/**
 * What the core itself reads: every key has a default, a line of documentation and a mark that says when a change takes effect
 * (`docs/configuration.md`).
 */
const coreSchema = z.object({
  $schema: takes('live', z.string().optional().describe('For editors.')),
  agent: takes('live', agentSchema),
  agents: takes('rebuild', agentsSchema([])),
  providers: takes('rebuild', providersSchema),
  models: takes('live', modelsSchema),
  channels: takes('rebuild', channelsSchema([])),
  tools: takes('restart', toolsSchema),
  skills: takes('live', skillsSchema),
  memory: takes('restart', memorySchema),
  gateway: takes('restart', gatewaySchema),
  session: takes('live', sessionSchema),
  plugins: takes('rebuild', pluginsSchema),
  extensions: takes(
    'restart',
    z
      .record(z.string(), z.boolean())
      .default({})
      .describe('Parts of the program by name: `false` switches one off, e.g. `{"webhooks": false}`.'),
  ),
  log: takes('restart', logSchema),
  store: takes(
    'restart',
    storeAddress().describe(
      'PostgreSQL that keeps this home, e.g. `postgres://user:password@host/database?sslmode=verify-full`; null: the folder alone has it.',
    ),
  ),
  homes: takes('restart', homesSchema),
});

/** What the core reads. The settings of an extension are read by `Section.of` alone. */
export type Config = z.output<typeof coreSchema>;

/** A part of the configuration that an extension brings; `section` makes one. */
export interface Section<S extends z.ZodType = z.ZodType> {
  /** Its place: a section of its own (`cron`), or a key of one of the core's (`tools.browser`). */
  readonly path: string;
  readonly schema: S;
  /** Further assistants of the process have none: what stands there in their configuration has no effect. */
  readonly mainOnly: boolean;
  /** A text at a wrong place in it may be a key, so problems do not show it. */
  readonly sensitive: boolean;
  /** How other programs write it. */
  readonly forms?: SectionForms;
  /** Its value in safe mode. @default unchanged */
  readonly inSafeMode?: (value: z.output<S>) => z.output<S>;
  /** Its value in a configuration that was checked. */
  of(config: Config): z.output<S>;
}

export interface SectionForms {
  /** Its value as other programs write it, in its own form. */
  readonly own: (value: unknown) => unknown;
  /** The switches, by their paths in that form, that were neither on nor off. */
  readonly unread: (value: unknown) => readonly (readonly string[])[];
}

/** Declares a part of the configuration. `effect`: when a change counts; keys may be marked otherwise with `takes`. */
export function section<S extends z.ZodType>(
  path: string,
  effect: Effect,
  schema: S,
  { mainOnly = false, sensitive = false, ...more }: Partial<Omit<Section<S>, 'path' | 'schema' | 'of'>> = {},
): Section<S> {
  const keys = path.split('.');
  return {
    path,
    schema: takes(effect, schema),
    mainOnly,
    sensitive,
    ...more,
    of: (config) => {
      let value: unknown = config;
      for (const key of keys) value = Reflect.get(Object(value), key);
      // The schema, which is made of the same sections, has checked it.
      return value as z.output<S>;
    },
  };
}

/** The schema of `config.json`: what the core reads, and what extensions of these names add. */
export function configSchema({
  names,
  sections,
  kinds,
}: {
  readonly names: readonly string[];
  readonly sections: readonly Section[];
  readonly kinds: readonly ChannelSettingsKind[];
}): z.ZodObject {
  const own = sections.filter(({ path }) => !path.includes('.'));
  const further = own.filter(({ mainOnly }) => !mainOnly).map(({ path }) => path);
  const root: z.ZodObject = coreSchema.extend({
    agents: takes('rebuild', agentsSchema(further)),
    channels: takes('rebuild', channelsSchema(kinds)),
    extensions: takes('restart', extensionsSchema(names)),
    ...Object.fromEntries(own.map(({ path, schema }) => [path, schema])),
  });
  return sections
    .filter((one) => !own.includes(one))
    .reduce((whole, { path, schema }) => below(whole, path.split('.'), schema), root);
}

function extensionsSchema(names: readonly string[]) {
  const switches = Object.fromEntries(names.map((name) => [name, flag(true, `Whether \`${name}\` runs.`)]));
  return z.object(switches).prefault({}).describe('Parts of the program that can be switched off.');
}

/** The schema with another one at a place in it, which is not there yet. */
function below(root: z.ZodObject, [key = '', ...rest]: readonly string[], schema: z.ZodType): z.ZodObject {
  if (rest.length === 0) return root.extend({ [key]: schema });
  const outer: unknown = root.shape[key];
  const inner = innerSchema(outer);
  if (!(inner instanceof z.ZodObject)) throw new Error(`${key} is no section`);
  const extended = below(inner, rest, schema)
    .prefault({})
    .describe((outer as z.ZodType).description ?? '');
  return root.extend({ [key]: takes(markedEffect(outer) ?? 'restart', extended) });
}

/** The schema inside defaults, nulls and transforms: an object, a record, an array, a union or a plain value. */
export function innerSchema(schema: unknown): unknown {
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) return innerSchema(schema.unwrap());
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional) return innerSchema(schema.unwrap());
  return schema instanceof z.ZodPipe ? innerSchema(schema.in) : schema;
}
