import { existsSync } from 'node:fs';
import type * as z from 'zod';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { assistantCommand } from '../util/assistant-command.ts';
import { failed, type Finding, warning } from '../util/finding.ts';
import { shellWord, switchedOff } from '../util/text.ts';
import { hostedEnvironment, MACHINES_SECTIONS, mainsSections, ownSettings, sharedChannels } from './agents.ts';
import { hostedHome, machineOf } from './hosted-home.ts';
import { missingSecrets } from './channels.ts';
import { parseDocument, type ConfigDocument } from './document.ts';
import type { Environment } from './environment.ts';
import { mergeSettings, withEnvironment } from './environment-keys.ts';
import { withVariables } from './environment-settings.ts';
import { homePaths } from './home.ts';
import { problemsError } from './problems.ts';
import { readConfigFile } from './read-config.ts';
import type { Config } from './schema.ts';
import { channelOffBy, programWith, type Program } from '../program.ts';
import type { AgentSettings } from './schema/agents.ts';
import { collectSecrets, resolveReferences, type MissingVariable } from './secrets.ts';
import { unknownKeys } from './unknown-keys.ts';
import type { SettingPath } from './setting.ts';

const MAY_WRITE = 0o022;

const MAY_READ = 0o044;

/** A configuration that is valid, and where its values come from. */
export interface LoadedConfig {
  readonly config: Config;
  /** What it was checked by, as it runs with this configuration. */
  readonly program: Program;
  /** What is wrong with it, though it is valid. */
  readonly findings: readonly Finding[];
  /** Path of the file, whether or not it exists; `ASSISTANT_CONFIG` if that variable replaces the file. */
  readonly path: string;
  readonly exists: boolean;
  /** There is no file, or nothing in it. */
  readonly isEmpty: boolean;
  /** The settings of the file, with references to variables and files unresolved. */
  readonly written: Readonly<Record<string, unknown>>;
  /** The `ASSISTANT_…` variable that sets this path or a part of it; undefined: none does. */
  readonly variableOf: (path: SettingPath) => string | undefined;
  /** Whether the file or a variable says which level is logged. */
  readonly setsLogLevel: boolean;
  /** The variables that keys of providers were read from, by the name of the entry. */
  readonly keyVariables: Readonly<Record<string, string>>;
  /** Every variable that something of it is from, sorted: where they are not set, it is another configuration. */
  readonly variables: readonly string[];
  /** Every secret value of the configuration and its variables, for redaction. */
  readonly secrets: readonly string[];
}

/** The variable that may hold a whole configuration, which replaces the file. */
const WHOLE = 'ASSISTANT_CONFIG';

/**
 * Loads the configuration of a home. From the strongest: `overrides` (from flags), the `ASSISTANT_…` variables, the file (or
 * `ASSISTANT_CONFIG` instead of it), the usual variables of keys, the defaults. Throws `config-invalid` (exit code 78) if it
 * is invalid, `config-unreadable` (78) if the file cannot be read.
 */
export async function loadConfig(options: {
  /** That of the core and of the extensions of this program. */
  readonly program: Program;
  readonly home: string;
  readonly env: Environment;
  readonly overrides?: Readonly<Record<string, unknown>>;
  /** Used instead of the text of the file, to check it before it is written. */
  readonly text?: string;
  /** The configuration of the main assistant whose channels it has. @default that of the home around it, if there is one */
  readonly host?: LoadedConfig;
}): Promise<LoadedConfig> {
  const { program, home, overrides = {} } = options;
  const hosted = hostedHome(home);
  // What the machine of a home says of stores is not the home's to say.
  if (hosted === null && machineOf(home) !== null)
    return await loadOwn({ ...options, env: hostedEnvironment(program, options.env), ignored: MACHINES_SECTIONS });
  const host =
    hosted === null
      ? undefined
      : (options.host ?? (await loadConfig({ program, home: hosted.host, env: options.env })));
  const entry = hosted === null ? undefined : host?.config.agents[hosted.name];
  if (host === undefined || entry === undefined) return await loadOwn(options);
  return withHost(
    await loadOwn({
      ...options,
      env: hostedEnvironment(program, options.env),
      under: {
        providers: host.config.providers,
        models: host.config.models,
        extensions: host.config.extensions,
      },
      overrides: mergeSettings(ownSettings(entry), overrides),
    }),
    { host, entry },
  );
}

/** What the main assistant gives a further one: its channels; and what of its own it cannot have. */
function withHost(
  own: LoadedConfig,
  { host, entry }: { readonly host: LoadedConfig; readonly entry: AgentSettings },
): LoadedConfig {
  const { program } = own;
  const idle = mainsSections(program).filter((section) => own.written[section] !== undefined);
  const unset = program.sections
    .filter(({ mainOnly }) => mainOnly)
    .map(({ path, schema }) => [path, schema.parse(undefined)]);
  return {
    ...own,
    config: { ...own.config, agents: {}, channels: sharedChannels(host, entry), ...Object.fromEntries(unset) },
    secrets: [...new Set([...own.secrets, ...host.secrets])],
    findings: [
      ...own.findings.filter(({ id, facts }) => id !== 'config.missing' || facts?.['section'] !== 'channels'),
      ...idle.map((section) => ({
        id: 'config.unused',
        ...warning(`The setting "${section}" has no effect here: it belongs to the main assistant (${host.path}).`),
        facts: { setting: section },
      })),
    ],
  };
}

interface OwnOptions {
  readonly program: Program;
  readonly home: string;
  readonly env: Environment;
  readonly overrides?: Readonly<Record<string, unknown>>;
  readonly text?: string;
  /** Settings below those of the file. @default none */
  readonly under?: Readonly<Record<string, unknown>>;
  /** Sections that count as not written. @default none */
  readonly ignored?: readonly string[];
}

async function loadOwn(options: OwnOptions): Promise<LoadedConfig> {
  const { program, home, env, overrides = {}, under = {}, ignored = [] } = options;
  const file = homePaths(home, env).config;
  const whole = env[WHOLE];
  const source = whole ?? options.text ?? (await readConfigFile(file));
  const path = whole === undefined ? file : WHOLE;
  const document = source === undefined ? undefined : parseDocument(source, path);
  const all = Object.entries(asSettings(document?.value));
  const written = Object.fromEntries(all.filter(([section]) => !ignored.includes(section)));
  const { settings: given, variableOf, findings, ...set } = withVariables(program, withOwnForms(program, written), env);
  const settings = withOwnForms(program, given);
  const resolved = await resolveReferences(settings, env, dirname(file));
  const filled = withEnvironment(program, mergeSettings(under, asSettings(resolved.value)), env);
  const raw = mergeSettings(filled.settings, withOwnForms(program, overrides));
  const sensitive = new Set(program.sections.filter((one) => one.sensitive).map(({ path }) => path));
  const plugins: unknown = raw['plugins'];
  const absent = (Array.isArray(plugins) ? plugins : []).map(String).filter((name) => !program.packages.has(name));
  const config = parse(program, raw, {
    isWhole: absent.length === 0,
    file: path,
    document,
    referenced: resolved.referenced,
    variableOf,
    sensitive,
  });
  const running = programWith(program, config);
  return {
    config,
    program: running,
    path,
    exists: source !== undefined,
    isEmpty: document?.isEmpty ?? true,
    written,
    variableOf,
    setsLogLevel: asSettings(settings['log'])['level'] !== undefined,
    keyVariables: keyVariablesOf(config, settings, { presets: program.presets, env, variableOf }),
    variables: [
      ...new Set([
        ...(whole === undefined ? [] : [WHOLE]),
        ...set.variables,
        ...resolved.variables,
        ...filled.variables,
      ]),
    ].sort(),
    secrets: collectSecrets(config, env, resolved.secrets),
    findings: [
      ...(source === undefined || whole !== undefined ? [] : await openToOthers(file, written)),
      ...(whole === undefined || !existsSync(file)
        ? []
        : [
            {
              id: 'config.valid',
              ...warning(`${file} is not read, because the variable ${WHOLE} holds the configuration.`),
              facts: { variable: WHOLE },
            },
          ]),
      ...(source?.trim() === ''
        ? [
            {
              id: 'config.valid',
              ...warning(`${path} is empty; the defaults are used.`, assistantCommand('init')),
              lead: 'To set the assistant up',
            },
          ]
        : []),
      ...findings,
      ...unknownKeys(program, settings, absent),
      ...missingVariables(resolved.missing, config, settings),
      ...idleChannels(running, resolved.missing, config),
      ...idleModels(running, config),
    ],
  };
}

/** Sections that are written as other programs write them, in their own form. */
function withOwnForms(
  { sections }: Program,
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const own = sections.flatMap(({ path, forms }) =>
    forms === undefined || settings[path] === undefined ? [] : [[path, forms.own(settings[path])]],
  );
  return { ...settings, ...Object.fromEntries(own) };
}

function unreadSwitches(
  { sections }: Program,
  settings: Readonly<Record<string, unknown>>,
): readonly z.core.$ZodIssue[] {
  return sections.flatMap(({ path, forms }) =>
    (forms?.unread(settings[path]) ?? []).map((keys) => {
      return { code: 'invalid_type' as const, expected: 'boolean' as const, path: [path, ...keys], message: '' };
    }),
  );
}

function parse(
  program: Program,
  raw: Readonly<Record<string, unknown>>,
  source: {
    file: string;
    document: ConfigDocument | undefined;
    referenced: ReadonlySet<string>;
    variableOf: LoadedConfig['variableOf'];
    sensitive: ReadonlySet<string>;
    /** All listed packages are a part of the program; else it keeps the sections that it doesn't know. */
    isWhole: boolean;
  },
): Config {
  // It is parsed once: to compile parsers for it first takes three times as long.
  const { schema } = program;
  const parsed = (source.isWhole ? schema : schema.loose()).safeParse(raw, { jitless: true });
  const unread = unreadSwitches(program, raw);
  // It is the core's program, extended.
  if (parsed.success && unread.length === 0) return parsed.data as Config;
  throw problemsError([...unread, ...(parsed.error?.issues ?? [])], { ...source, raw });
}

/** The variable of each provider whose key comes from one: from a reference in the file, or from its own or usual variable. */
function keyVariablesOf(
  { providers }: Config,
  settings: Readonly<Record<string, unknown>>,
  { presets, env, variableOf }: Pick<Program, 'presets'> & Pick<OwnOptions, 'env'> & Pick<LoadedConfig, 'variableOf'>,
): Readonly<Record<string, string>> {
  const entries = Object.entries(providers).flatMap(([name, { apiKey }]) => {
    const own = variableOf(['providers', name, 'apiKey']);
    if (own !== undefined && env[own] === apiKey) return [[name, own] as const];
    const given = asSettings(asSettings(settings['providers'])[name])['apiKey'];
    const variable =
      typeof given === 'string'
        ? /^\$\{(?<name>\w+)\}$/u.exec(given)?.groups?.['name']
        : presets.get(name)?.keyVariable;
    const isUsed = variable != null && typeof apiKey === 'string' && env[variable] === apiKey;
    return isUsed ? [[name, variable] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** One for each setting whose variable is not set, if its section is in use. */
function missingVariables(missing: readonly MissingVariable[], config: Config, written: unknown): readonly Finding[] {
  return missing
    .filter(({ path }) => isNeeded(path, config, written))
    .map(({ path, variable }) => {
      const setting = path.join('.');
      return {
        id: 'config.missing',
        ...warning(`${setting} names the variable ${variable}, which is not set; the setting is left out.`),
        facts: { section: path[0] ?? '', setting, variable },
      };
    });
}

function isNeeded([section, name = '']: readonly string[], config: Config, written: unknown): boolean {
  if (section === 'channels') return asSettings(asSettings(asSettings(written)['channels'])[name])['enabled'] === true;
  if (section !== 'providers') return true;
  return [config.agent.model, ...config.agent.fallbacks].some((model) => model.startsWith(`${name}/`));
}

function idleChannels(program: Program, missing: readonly MissingVariable[], config: Config): readonly Finding[] {
  return Object.entries(config.channels).flatMap(([name, settings]) => {
    if (!settings.enabled) return [];
    const off = channelOffBy(program, settings.kind ?? name);
    const stays = (why: string, facts: Finding['facts']): Finding => ({
      id: 'config.missing',
      ...warning(`channels.${name} stays off: ${why}.`),
      facts: { section: 'channels', ...facts },
    });
    if (off !== undefined) return [stays(switchedOff(off), {})];
    const lacking = missingSecrets(program, name, settings).filter(
      (key) => !missing.some(({ path }) => path.join('.') === `channels.${name}.${key}`),
    );
    return lacking
      .map((key) => `channels.${name}.${key}`)
      .map((setting) => stays(`${setting} is not set`, { setting }));
  });
}

/** The models of the configuration that can't be called. */
function idleModels({ presets }: Program, { agent, providers }: Config): readonly Finding[] {
  const models = [['agent.model', agent.model], ...agent.fallbacks.map((ref) => ['agent.fallbacks', ref])];
  return models.flatMap(([path, ref = '']) => {
    const [name = ''] = ref.split('/');
    const off = presets.get(providers[name]?.kind ?? name)?.off;
    if (off === undefined) return [];
    return [{ id: 'config.missing', ...warning(`${path}: ${ref} can't be used: ${switchedOff(off)}.`) }];
  });
}

function asSettings(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
}

/**
 * A finding, with the command that fixes it, if other users of this machine can change the configuration file, or can read it while it
 * holds a key. `written`: the settings of the file with references unresolved.
 */
async function openToOthers(path: string, written: unknown): Promise<readonly Finding[]> {
  // Windows has no such modes.
  if (process.platform === 'win32') return [];
  const mode = (await stat(path).catch(() => undefined))?.mode ?? 0;
  const finding = { id: 'config.mode', lead: 'Run', facts: { path } };
  const remedy = `chmod 600 ${shellWord(path)}`;
  const shown = (mode & 0o777).toString(8);
  if ((mode & MAY_WRITE) !== 0) {
    const says = `${path} may be changed by other users of this machine (mode ${shown}): a person who changes it can run commands as you.`;
    return [{ ...failed(says, remedy), ...finding }];
  }
  if ((mode & MAY_READ) === 0 || !holdsKeys(written)) return [];
  const says = `${path} holds keys and may be read by other users of this machine (mode ${shown}).`;
  return [{ ...warning(says, remedy), ...finding }];
}

/** Whether the settings hold a key itself, and not only the name of a variable or file. */
function holdsKeys(written: unknown): boolean {
  return collectSecrets(written, {}, []).some((value) => !/\$\{\w+\}/u.test(value));
}
