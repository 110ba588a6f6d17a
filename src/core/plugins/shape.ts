import * as z from 'zod';
import { HOOK_NAMES, media, result, role } from '../agent/hooks/values.ts';
import { ACTION_KINDS } from '../security/access/taint.ts';
import { TARGET_KINDS } from '../tools/tool.ts';
import { given, misfit, thrownLine } from '../util/misfit.ts';
import { nearest } from '../util/text.ts';
import type { Plugin } from './plugin.ts';

/** The JSON Schema that a model would see of a tool's parameters; throws when there is none. */
export type ShowParameters = (parameters: z.ZodObject) => unknown;

type Call = (...given: readonly unknown[]) => unknown;
type Fields = Readonly<Record<string, unknown>>;

const text = z.string().min(1);
const isFunction = z.custom<Call>((value) => typeof value === 'function', 'a function');
const isObject = z.custom<object>((value) => typeof value === 'object' && value !== null, 'an object');
const isRegExp = z.instanceof(RegExp, { error: 'a regular expression' });
const isZodSchema = z.custom<z.ZodType>(
  (value) => typeof value === 'object' && value !== null && 'safeParse' in value,
  'a zod schema',
);
const isZodObject = z.custom<z.ZodObject>(
  looksLikeZodObject,
  'a zod object such as z.object({ city: z.string() }), not a JSON Schema',
);
/** What all model APIs take as a tool's name. */
const toolName = z
  .string()
  .regex(/^[a-z][\w-]{0,63}$/iu, 'a name of at most 64 letters, digits, "_" and "-" that begins with a letter');
const leftOut = (why: string) => z.custom<never>(() => false, `left out${why}`).optional();
/** How messages and files of the home are treated is the program's to say. */
const notForPackages = leftOut(", because it isn't for packages");

/** Read by `PARTS`. */
const items = z.array(z.unknown()).optional();

const pluginShape = z.object({
  name: text,
  tools: items,
  commands: items,
  providers: items,
  channels: items,
  routes: items,
  skills: text.optional(),
  hooks: isObject.optional(),
  tapeStore: z.unknown().optional(),
  guard: z.boolean().optional(),
  open: isFunction.optional(),
  origins: notForPackages,
  paths: notForPackages,
  conversation: notForPackages,
  bundledSkills: z.array(text).optional(),
  settings: z.array(z.looseObject({ path: text, schema: isZodSchema, of: isFunction })).optional(),
  tables: z.looseObject({ migrations: z.array(z.unknown()) }).optional(),
  vendors: z.array(z.looseObject({ api: text, presets: isObject, connect: isFunction })).optional(),
  speech: z.looseObject({ state: isFunction, transcriber: isFunction, speak: isFunction }).optional(),
  services: z.array(z.looseObject({ api: text, presets: isObject })).optional(),
  operations: z
    .array(z.looseObject({ name: text, input: isZodObject, output: isZodSchema, run: isFunction }))
    .optional(),
  cli: z.array(z.looseObject({ name: text })).optional(),
  prompt: z.array(z.looseObject({ name: text, stamp: isFunction, text: isFunction })).optional(),
  turns: isObject.optional(),
  sessions: isObject.optional(),
  undo: z.looseObject({ restore: isFunction }).optional(),
  why: z.looseObject({ find: isFunction, newest: isFunction }).optional(),
  ...optionalFunctions(['isOn', 'checks', 'troubles', 'status', 'retries', 'restored', 'forget', 'zone']),
  ...optionalFunctions(['start', 'stop', 'close']),
});
const channelShape = z.object({
  kind: text,
  shows: z.string(),
  config: isObject.optional(),
  setup: z
    .looseObject({
      where: text,
      tokens: z.record(z.string(), text),
      owner: z.looseObject({ title: text, form: isRegExp, problem: text }),
      platform: isFunction,
    })
    .optional(),
  open: isFunction,
});
const commandShape = z.object({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/u, 'a name of at most 32 small letters, digits and "_" that begins with a letter'),
  description: text,
  role: role.optional(),
  run: isFunction,
});
const providerShape = z.object({
  kind: z.string().regex(/^[a-z0-9][\w.-]{0,63}$/iu, 'a name of at most 64 letters, digits, "_", "." and "-"'),
  open: isFunction,
});
const routeShape = z.object({
  method: z.enum(['GET', 'POST', 'PUT', 'DELETE']),
  path: z.string().regex(/^(?:\/(?::[a-z]\w*|[\w.~-]*))+$/iu, 'a path that begins with a slash, such as "/status"'),
  allows: isFunction.optional(),
  refusal: z.object({ code: text, message: text }).optional(),
  handle: isFunction,
});
const tapeStoreShape = z.object({ list: isFunction, read: isFunction, write: isFunction, remove: isFunction });
const partOfPlan = leftOut(': what plan() returns says who is asked');
const toolShape = z.object({
  name: toolName,
  description: text,
  parameters: isZodObject,
  jsonSchema: z.record(z.string(), z.unknown()).optional(),
  effect: z.enum(['none', 'idempotent', 'effect']),
  role: role.optional(),
  timeoutMs: z.number().positive().optional(),
  waits: z.boolean().optional(),
  untrusted: z.boolean().optional(),
  fits: z.enum(['small', 'tiny']).optional(),
  withheldFrom: z.array(z.enum(['subagent', 'visit'])).optional(),
  onlyReads: z.literal(true).optional(),
  source: text.optional(),
  looks: isRegExp.optional(),
  plan: isFunction.optional(),
  execute: isFunction.optional(),
  // Ignored, these would ask nobody.
  decide: partOfPlan,
  action: partOfPlan,
  shows: partOfPlan,
});

const resultOfTool = result.extend({
  metadata: result.shape.metadata.optional(),
  skill: z.string().optional(),
  media: media.optional(),
});
const actionShape = z.looseObject({
  title: z.string(),
  detail: z.string(),
  action: z.looseObject({ kind: z.enum(ACTION_KINDS) }),
});
const targetsShape = z.array(z.looseObject({ kind: z.enum(TARGET_KINDS), target: z.string() }));
const deniedShape = z.object({ denied: text, about: targetsShape.optional() });
const planShape = z.object({
  run: isFunction,
  asks: z.looseObject({ title: z.string(), detail: z.string(), reason: z.string() }).optional(),
  covers: z.record(z.string(), z.unknown()).optional(),
  reaches: actionShape.optional(),
  about: targetsShape.optional(),
  echoes: z.boolean().optional(),
  allowedBy: z.string().optional(),
  close: isFunction.optional(),
});

interface How {
  /** The name of the package. */
  readonly owner: string;
  readonly showParameters: ShowParameters;
}

interface Part {
  readonly list: 'tools' | 'commands' | 'providers' | 'channels' | 'routes';
  /** Tells two items apart. */
  readonly key: string;
  readonly item: z.ZodObject | ((value: unknown, at: string, how: How) => Fields);
}

/** The lists of a plugin whose items are read one by one. */
const PARTS: readonly Part[] = [
  { list: 'tools', key: 'name', item: readTool },
  { list: 'commands', key: 'name', item: readCommand },
  { list: 'providers', key: 'kind', item: providerShape },
  { list: 'channels', key: 'kind', item: channelShape },
  { list: 'routes', key: 'path', item: routeShape },
];

/**
 * What a module exports, as a plugin whose fields are what they should be. Each is read once and copied, so that no
 * getter can throw later, and what its tools answer is looked at before anybody uses it. Throws one sentence without a
 * full stop that names the field.
 */
export function readPlugin(
  exported: unknown,
  { at = 'its default export', ...how }: How & { /** What it is called in sentences. */ readonly at?: string },
): Plugin {
  const { hooks, tapeStore, open, ...fields } = read(exported, pluginShape, at);
  const parts = PARTS.flatMap(({ list, key, item }) => {
    const made = fields[list]?.map((value, n) => {
      const place = `${list}[${n}]`;
      return typeof item === 'function' ? item(value, place, how) : bound(read(value, item, place), value);
    });
    requireDistinct(made ?? [], list, key);
    return made === undefined ? [] : [[list, made] as const];
  });
  const plugin: unknown = {
    ...bound(fields, exported),
    ...Object.fromEntries(parts),
    name: how.owner,
    ...(hooks === undefined ? {} : { hooks: readHooks(hooks) }),
    ...(tapeStore === undefined ? {} : { tapeStore: bound(read(tapeStore, tapeStoreShape, 'tapeStore'), tapeStore) }),
    ...(open === undefined ? {} : { open: opening(open, { ...how, guard: fields.guard, exported }) }),
  };
  // What a function takes only shows when it is called; what it gives back is checked then.
  return plugin as Plugin;
}

/** What `open` returns is looked at like what stands beside it. A guard must not depend on it. */
function opening(
  open: Call,
  { guard, exported, ...how }: How & { readonly guard: boolean | undefined; readonly exported: unknown },
): Call {
  return async (app) => {
    const opened = (await open.call(exported, app)) ?? {};
    const added = readPlugin({ ...Object(opened), name: how.owner }, { ...how, at: 'what open() returned' });
    if (added.guard !== undefined || (guard === true && added.hooks !== undefined))
      throw new Error('a guard and its hooks must stand beside open(), so that they hold where it fails');
    return added;
  };
}

function readCommand(value: unknown, at: string): Fields {
  const command = bound(read(value, commandShape, at), value);
  return {
    ...command,
    run: async (call: unknown) => {
      const reply = await command.run(call);
      const wrong = misfit(reply, z.string(), 'reply');
      if (wrong === null) return reply;
      throw new Error(`The command /${command.name} of a plugin is broken: ${wrong}.`);
    },
  };
}

function requireDistinct(items: readonly Fields[], list: string, key: string): void {
  const names = items.map(({ method, [key]: name }) =>
    [method, name].filter((word) => typeof word === 'string').join(' '),
  );
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice !== undefined) throw new Error(`${list}: two of them have the ${key} ${JSON.stringify(twice)}`);
}

function readTool(value: unknown, at: string, { owner, showParameters }: How): Fields {
  const tool = bound(read(value, toolShape, at), value);
  const label = `${at} (${tool.name})`;
  if (tool.jsonSchema === undefined) {
    try {
      showParameters(tool.parameters);
    } catch (error) {
      throw new Error(`${label}.parameters cannot be shown to a model: ${thrownLine(error)}`, { cause: error });
    }
  }
  const broken = (wrong: string): string =>
    `The plugin ${JSON.stringify(owner)} is broken. Its tool ${tool.name}: ${wrong}.`;
  // The tool has run by then, so the call isn't called failed.
  const executed =
    (call: Call): Call =>
    async (...args) => {
      const value = (await call(...args)) ?? null;
      const wrong = misfit(value, resultOfTool, 'result');
      if (wrong === null) return value;
      return { title: tool.name, output: `${tool.name} ran, but its result can’t be read. ${broken(wrong)}` };
    };
  const { execute, looks, plan, ...traits } = tool;
  if (plan === undefined && execute === undefined)
    throw new Error(`${label}.execute must be a function, but it is missing`);
  return {
    ...traits,
    // With such a flag it would remember where it matched.
    ...(looks === undefined ? {} : { looks: new RegExp(looks, looks.flags.replaceAll(/[gy]/gu, '')) }),
    plan: async (params: object, context: object) => {
      if (plan === undefined) return { run: executed((signal) => execute?.(params, { ...context, signal })) };
      const given = await plan(params, context);
      const isDenied = typeof given === 'object' && given !== null && 'denied' in given;
      try {
        if (isDenied) return read(given, deniedShape, 'plan');
        const planned = read(given, planShape, 'plan');
        return { ...bound(planned, given), run: executed(planned.run.bind(given)) };
      } catch (error) {
        throw new Error(broken(thrownLine(error)), { cause: error });
      }
    },
  };
}

function readHooks(value: object): Fields {
  const known = HOOK_NAMES;
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const guess = nearest(unknown, known);
    const hint = guess === undefined ? `there are ${known.join(', ')}` : `did you mean ${guess}?`;
    throw new Error(`hooks.${unknown} is not a hook: ${hint}`);
  }
  return bound(read(value, z.object(optionalFunctions(known)), 'hooks'), value);
}

/** The fields of a value that a shape names, each read once. */
function read<Shape extends z.ZodRawShape>(
  value: unknown,
  shape: z.ZodObject<Shape>,
  at: string,
): z.output<z.ZodObject<Shape>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`${at} must be an object, but ${given(value)}`);
  }
  const fields: Record<string, unknown> = {};
  for (const key of Object.keys(shape.shape)) {
    try {
      const field: unknown = Reflect.get(value, key);
      if (field !== undefined) fields[key] = field;
    } catch (error) {
      throw new Error(`${at}.${key} cannot be read: ${thrownLine(error)}`, { cause: error });
    }
  }
  const label = typeof fields['name'] === 'string' && at.includes('[') ? `${at} (${fields['name']})` : at;
  const wrong = misfit(fields, shape, label);
  if (wrong !== null) throw new Error(wrong.replace(/^its default export\./u, ''));
  return shape.parse(fields);
}

/** The same with functions that know whose they are. */
function bound<T extends object>(fields: T, owner: unknown): T {
  const entries = Object.entries(fields).map(([key, field]: [string, unknown]) => [
    key,
    typeof field === 'function' ? field.bind(owner) : field,
  ]);
  return Object.fromEntries(entries);
}

/** One of zod 4 or of zod 3, as plugins bring their own copy. */
function looksLikeZodObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (!('safeParse' in value) || typeof value.safeParse !== 'function') return false;
  return 'shape' in value && typeof value.shape === 'object' && value.shape !== null;
}

function optionalFunctions<Name extends string>(names: readonly Name[]) {
  return Object.fromEntries(names.map((name) => [name, isFunction.optional()])) as Record<
    Name,
    z.ZodOptional<typeof isFunction>
  >;
}
