import * as z from 'zod';
import type { Hooks } from '../agent/hooks/hooks.ts';
import type { DeclaredAction, EffectTarget, Tool } from '../tools/tool.ts';
import { given, misfit, thrownLine } from '../util/misfit.ts';
import { nearest } from '../util/text.ts';
import type { Plugin } from './plugin.ts';

/** The JSON Schema that a model would see of a tool's parameters; throws when there is none. */
export type ShowParameters = (parameters: z.ZodObject) => unknown;

type Call = (...given: readonly unknown[]) => unknown;
type Fields = Readonly<Record<string, unknown>>;

const text = z.string().min(1);
const isFunction = z.custom<Call>((value) => typeof value === 'function', 'a function');
/** What all model APIs take as a tool's name. */
const toolName = z
  .string()
  .regex(/^[a-z][\w-]{0,63}$/iu, 'a name of at most 64 letters, digits, "_" and "-" that begins with a letter');
const isZodObject = z.custom<z.ZodObject>(
  looksLikeZodObject,
  'a zod object such as z.object({ city: z.string() }), not a JSON Schema',
);

const isObject = z.custom<object>((value) => typeof value === 'object' && value !== null, 'an object');
const isZodSchema = z.custom<z.ZodType>(
  (value) => typeof value === 'object' && value !== null && 'safeParse' in value,
  'a zod schema',
);

/** How messages and files of the home are treated is the program's to say. */
const notForPackages = z.custom<never>(() => false, "left out, because it isn't for packages").optional();

/** What is used as it is, once it has the right form. */
const partsShape = z.object({
  origins: notForPackages,
  paths: notForPackages,
  conversation: notForPackages,
  isOn: isFunction.optional(),
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
  checks: isFunction.optional(),
  prompt: z.array(z.looseObject({ name: text, stamp: isFunction, text: isFunction })).optional(),
  turns: isObject.optional(),
  sessions: isObject.optional(),
  troubles: isFunction.optional(),
  status: isFunction.optional(),
  retries: isFunction.optional(),
  restored: isFunction.optional(),
  forget: isFunction.optional(),
  undo: z.looseObject({ restore: isFunction }).optional(),
  why: z.looseObject({ find: isFunction, newest: isFunction }).optional(),
  zone: isFunction.optional(),
  start: isFunction.optional(),
  stop: isFunction.optional(),
  close: isFunction.optional(),
});

const pluginShape = z.object({
  name: text,
  channels: z.array(z.unknown()).optional(),
  tools: z.array(z.unknown()).optional(),
  commands: z.array(z.unknown()).optional(),
  providers: z.array(z.unknown()).optional(),
  routes: z.array(z.unknown()).optional(),
  skills: text.optional(),
  hooks: isObject.optional(),
  tapeStore: z.unknown().optional(),
  guard: z.boolean().optional(),
  open: isFunction.optional(),
});
const channelShape = z.object({
  kind: text,
  shows: z.string(),
  config: isObject.optional(),
  setup: isObject.optional(),
  open: isFunction,
});
const roles = z.enum(['owner', 'trusted', 'guest']);
const commandShape = z.object({
  name: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,31}$/u, 'a name of at most 32 small letters, digits and "_" that begins with a letter'),
  description: text,
  role: roles.optional(),
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
const partOfPlan = z.custom<never>(() => false, 'left out: what plan() returns says who is asked').optional();
const toolShape = z.object({
  name: toolName,
  description: text,
  parameters: isZodObject,
  jsonSchema: z.record(z.string(), z.unknown()).optional(),
  effect: z.enum(['none', 'idempotent', 'effect']),
  role: roles.optional(),
  timeoutMs: z.number().positive().optional(),
  waits: z.boolean().optional(),
  untrusted: z.boolean().optional(),
  fits: z.enum(['small', 'tiny']).optional(),
  withheldFrom: z.array(z.enum(['subagent', 'visit'])).optional(),
  onlyReads: z.literal(true).optional(),
  source: text.optional(),
  looks: z.instanceof(RegExp, { error: 'a regular expression' }).optional(),
  plan: isFunction.optional(),
  execute: isFunction.optional(),
  // Ignored, these would ask nobody.
  decide: partOfPlan,
  action: partOfPlan,
  shows: partOfPlan,
});

const HOOKS = {
  session: true,
  admit: true,
  loadState: true,
  prompt: true,
  model: true,
  beforeModel: true,
  beforeTool: true,
  afterTool: true,
  render: true,
  runModel: true,
  onError: true,
  dispatch: true,
  saveState: true,
  turnEnd: true,
} satisfies Record<keyof Hooks, true>;

const ACTIONS = {
  'fetch-url': true,
  'search-web': true,
  'page-input': true,
  'foreign-tool': true,
  irreversible: true,
  'message-other-chat': true,
  'show-to-group': true,
  'networked-exec': true,
  'lasting-write': true,
  other: true,
} satisfies Record<DeclaredAction['action']['kind'], true>;

const TARGETS = {
  file: true,
  command: true,
  process: true,
  message: true,
  job: true,
  memory: true,
  task: true,
  conversation: true,
} satisfies Record<EffectTarget['kind'], true>;

const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()], 'a text, a number, true, false or null');
const resultShape = z.looseObject({
  title: z.string(),
  output: z.string(),
  metadata: z.record(z.string(), scalar).optional(),
  isError: z.boolean().optional(),
  untrusted: z.boolean().optional(),
  private: z.boolean().optional(),
  skill: z.string().optional(),
  media: z.array(z.looseObject({ kind: z.string(), mediaType: z.string(), path: z.string() })).optional(),
});
const actionShape = z.looseObject({
  title: z.string(),
  detail: z.string(),
  action: z.looseObject({ kind: z.enum(Object.keys(ACTIONS)) }),
});
const targetsShape = z.array(z.looseObject({ kind: z.enum(Object.keys(TARGETS)), target: z.string() }));
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

/** What a package exports, in sentences. Its fields are named without it. */
const DEFAULT_EXPORT = 'its default export';

/**
 * What a module exports, as a plugin whose fields are what they should be. Each is read once and copied, so that no
 * getter can throw later, and what its tools answer is looked at before anybody uses it. Throws one sentence without a
 * full stop that names the field.
 */
export function readPlugin(
  exported: unknown,
  {
    owner,
    showParameters,
    at = DEFAULT_EXPORT,
  }: {
    /** The name of the package. */
    readonly owner: string;
    readonly showParameters: ShowParameters;
    /** What it is called in sentences. @default 'its default export' */
    readonly at?: string;
  },
): Plugin {
  const fields = read(exported, pluginShape, at);
  const {
    channels = [],
    tools = [],
    commands = [],
    providers = [],
    routes = [],
    skills,
    hooks,
    tapeStore,
    guard,
    open,
  } = fields;
  const own = tools.map((tool, at) => readTool(tool, `tools[${at}]`, { owner, showParameters }));
  const named = commands.map((command, at) => readCommand(command, `commands[${at}]`));
  const kinds = providers.map((provider, at) => bound(read(provider, providerShape, `providers[${at}]`), provider));
  const served = routes.map((route, at) => bound(read(route, routeShape, `routes[${at}]`), route));
  const listed = channels.map((channel, at) => readChannel(channel, `channels[${at}]`));
  const paths = served.map(({ method, path }) => ({ path: `${method} ${path}` }));
  distinct({ tools: own, commands: named }, 'name');
  distinct({ providers: kinds, channels: listed }, 'kind');
  distinct({ routes: paths }, 'path');
  const plugin: unknown = {
    ...bound(read(exported, partsShape, at), exported),
    name: owner,
    ...(listed.length === 0 ? {} : { channels: listed }),
    ...(own.length === 0 ? {} : { tools: own }),
    ...(named.length === 0 ? {} : { commands: named }),
    ...(kinds.length === 0 ? {} : { providers: kinds }),
    ...(served.length === 0 ? {} : { routes: served }),
    ...(skills === undefined ? {} : { skills }),
    ...(hooks === undefined ? {} : { hooks: readHooks(hooks) }),
    ...(tapeStore === undefined ? {} : { tapeStore: bound(read(tapeStore, tapeStoreShape, 'tapeStore'), tapeStore) }),
    ...(guard === undefined ? {} : { guard }),
    ...(open === undefined ? {} : { open: opening(open, { guard, exported, owner, showParameters }) }),
  };
  // What a function takes only shows when it is called; what it gives back is checked then.
  return plugin as Plugin;
}

/** What `open` returns is looked at like what stands beside it. A guard must not depend on it. */
function opening(
  open: Call,
  {
    guard,
    exported,
    ...how
  }: {
    readonly guard?: boolean;
    readonly exported: unknown;
    readonly owner: string;
    readonly showParameters: ShowParameters;
  },
): Call {
  return async (app) => {
    const opened = (await open.call(exported, app)) ?? {};
    const added = readPlugin({ ...Object(opened), name: how.owner }, { ...how, at: 'what open() returned' });
    if (added.guard !== undefined || (guard === true && added.hooks !== undefined))
      throw new Error('a guard and its hooks must stand beside open(), so that they hold where it fails');
    return added;
  };
}

function readChannel(value: unknown, at: string): Readonly<Record<'kind' | 'shows' | 'open', unknown>> {
  return bound(read(value, channelShape, at), value);
}

function readCommand(value: unknown, at: string): Fields & { readonly name: string } {
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

function distinct(lists: Readonly<Record<string, readonly Fields[]>>, what: string): void {
  for (const [list, items] of Object.entries(lists)) {
    const names = items.map((item) => item[what]);
    const twice = names.find((name, at) => names.indexOf(name) !== at);
    if (twice !== undefined) throw new Error(`${list}: two of them have the ${what} ${JSON.stringify(twice)}`);
  }
}

function readTool(
  value: unknown,
  at: string,
  { owner, showParameters }: { readonly owner: string; readonly showParameters: ShowParameters },
): Fields & Pick<Tool, 'name'> {
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
      const wrong = misfit(value, resultShape, 'result');
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
  const known = Object.keys(HOOKS);
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown !== undefined) {
    const guess = nearest(unknown, known);
    const hint = guess === undefined ? `there are ${known.join(', ')}` : `did you mean ${guess}?`;
    throw new Error(`hooks.${unknown} is not a hook: ${hint}`);
  }
  const shape = z.object(Object.fromEntries(known.map((name) => [name, isFunction.optional()])));
  return bound(read(value, shape, 'hooks'), value);
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
  const wrong = misfit(fields, shape, at === DEFAULT_EXPORT ? '' : label);
  if (wrong !== null) throw new Error(wrong);
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
