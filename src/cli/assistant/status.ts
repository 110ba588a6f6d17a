import { channelsOff, enabledChannels } from '../../core/config/channels.ts';
import type { FleetReport } from '../../host/homes/fleet-report.ts';
import type { HomePaths } from '../../core/config/home.ts';
import { machineOf } from '../../core/config/hosted-home.ts';
import { loadConfig, type LoadedConfig } from '../../core/config/load.ts';
import type { AgentFacts, AssistantInfo, HomeOnGateway, StoreFacts } from '../../core/gateway/assistant-port.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { sentenceOf } from '../../core/util/finding.ts';
import { shellWord } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { pathsOf } from '../../core/cli/open.ts';
import { terminalText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant status`: what the running assistant says, else what can be seen without one. */
export async function statusCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  const paths = pathsOf(context, home);
  const running = await context.connect(paths.socket);
  if (running !== undefined) {
    await using assistant = running;
    const { transcription: _, operations: __, ...info } = await assistant.call('info', {});
    const now = context.clock.now();
    const stored = await storedPart({ paths, store: info.store }, context);
    const facts = { running: true, ...info, ...stored?.facts };
    const own = info.homes === undefined ? runningLines(info, now) : await machineLines(info, info.homes, now);
    const lines = [...own, ...(stored?.lines ?? []), ...warningLines(info.warnings)];
    print(context, json, { facts, lines, escape: terminalText });
    return 0;
  }
  const loaded = await loadConfig({ program: context.program, home: paths.home, env: context.env });
  const { config, path, exists } = loaded;
  if (config.homes.enabled) return await machineAtRest({ paths, loaded, json }, context);
  const { homeAtRest } = await import('../../core/start/home-at-rest.ts');
  const { model: modelNow, isScripted, voice, speech, search, findings } = homeAtRest(paths, loaded, context.clock);
  const warnings = findings.map(sentenceOf);
  const agents = Object.keys(config.agents);
  const machine = machineOf(paths.home);
  const stored = await storedPart({ paths, store: undefined, loaded }, context);
  const facts = {
    running: false,
    home: paths.home,
    config: { path, exists },
    model: config.agent.model,
    modelNow,
    voice,
    speech,
    search,
    channels: Object.keys(enabledChannels(loaded)),
    ...(agents.length === 0 ? {} : { agents }),
    ...stored?.facts,
    warnings,
  };
  const lines = [
    'not running',
    ...rows({
      home: facts.home,
      config: exists ? path : `${path} (there is none; the defaults are used)`,
      model: modelRow(facts.model, modelNow, isScripted),
      channels:
        [...facts.channels, ...channelsOff(config).map((name) => `${name} (switched off)`)].join(', ') || 'none',
      ...(agents.length === 0 ? {} : { agents: agents.join(', ') }),
      ...voiceRows({ voice, speech, search }),
      start:
        machine === null
          ? `${assistantCommand('gateway')}, or talk here: ${assistantCommand('chat')}`
          : `the gateway of its machine: ${startOf(machine)}`,
    }),
    ...(stored?.lines ?? []),
    ...warningLines(warnings),
  ];
  print(context, json, { facts, lines, escape: terminalText });
  return 0;
}

interface StoredPart {
  readonly facts: { readonly fleet: FleetReport };
  readonly lines: readonly string[];
}

/** What the database of the setting `store` says; undefined: there is no such setting. `loaded`: @default it is read */
async function storedPart(
  {
    paths,
    store,
    loaded,
  }: { readonly paths: HomePaths; readonly store: StoreFacts | undefined; readonly loaded?: LoadedConfig },
  { program, env, clock }: CliContext,
): Promise<StoredPart | undefined> {
  // For a home of a machine the machine has the setting.
  const machine = machineOf(paths.home);
  const config =
    (machine === null ? loaded : undefined) ??
    (await loadConfig({ program, home: machine ?? paths.home, env }).catch(() => undefined));
  if (config === undefined || config.config.store === null) return undefined;
  const { readFleetReport, storedName } = await import('../../host/homes/fleet-report.ts');
  const fleet = await readFleetReport(config, clock);
  if (fleet === null) return undefined;
  const { fleetLines } = await import('./fleet-text.ts');
  return { facts: { fleet }, lines: fleetLines({ name: storedName(config, paths), fleet, store, now: clock.now() }) };
}

/** The folder of a machine in which no gateway runs: what the database says. */
async function machineAtRest(
  { paths, loaded, json }: { readonly paths: HomePaths; readonly loaded: LoadedConfig; readonly json: boolean },
  context: CliContext,
): Promise<number> {
  const { path, exists } = loaded;
  const warnings = loaded.findings.map(sentenceOf);
  const stored = await storedPart({ paths, store: undefined, loaded }, context);
  const facts = { running: false, home: paths.home, config: { path, exists }, ...stored?.facts, warnings };
  const lines = [
    'not running',
    ...rows({ machine: paths.home, config: exists ? path : `${path} (there is none)`, start: startOf(paths.home) }),
    ...(stored?.lines ?? []),
    ...warningLines(warnings),
  ];
  print(context, json, { facts, lines, escape: terminalText });
  return 0;
}

function startOf(machine: string): string {
  return assistantCommand(`gateway --home ${shellWord(machine)}`);
}

async function machineLines(
  info: AssistantInfo,
  homes: readonly HomeOnGateway[],
  now: number,
): Promise<readonly string[]> {
  const { homesLines } = await import('./fleet-text.ts');
  return [firstLine(info, now), ...rows({ machine: info.home, http: info.http ?? 'off' }), ...homesLines(homes, now)];
}

function firstLine(info: AssistantInfo, now: number): string {
  const state = info.waiting === undefined ? 'running' : 'waits';
  return `${state}, process ${info.pid}, version ${info.version}, for ${minutes(now - info.startedAt)}`;
}

function runningLines(info: AssistantInfo, now: number): readonly string[] {
  return [
    firstLine(info, now),
    ...(info.waiting === undefined || info.warnings.includes(info.waiting) ? [] : [info.waiting]),
    ...rows({ home: info.home, model: info.model, http: info.http ?? 'off', ...pageRow(info.http) }),
    ...rows(voiceRows(info)),
    ...(typeof info.storage === 'string' ? rows({ storage: info.storage }) : []),
    ...Object.entries(info.channels).map(
      ([name, { state, detail }]) => `channel   ${name}: ${state}${detail === undefined ? '' : ` (${detail})`}`,
    ),
    ...agentRows(info.agents ?? []),
  ];
}

function agentRows(agents: readonly AgentFacts[]): readonly string[] {
  return agents.map(({ name, state, routes, detail }) => {
    const where = routes.length === 0 ? '' : `, answers ${routes.join(', ')}`;
    return `agent     ${name}: ${state}${where}${detail === undefined ? '' : ` (${detail})`}`;
  });
}

/** Which services get recordings and texts. */
function voiceRows({
  voice,
  speech,
  search,
}: Pick<AssistantInfo, 'voice' | 'speech' | 'search'>): Readonly<Record<string, string>> {
  return {
    ...(typeof voice === 'string' ? { voice } : {}),
    ...(typeof speech === 'string' ? { speech } : {}),
    ...(typeof search === 'string' ? { memory: `searched ${search}` } : {}),
  };
}

function pageRow(http: string | null): Readonly<Record<string, string>> {
  return http === null ? {} : { page: `for a link that opens it in a browser: ${assistantCommand('page')}` };
}

function warningLines(warnings: readonly string[]): readonly string[] {
  if (warnings.length === 0) return [];
  return [...warnings.map((warning) => `⚠ ${warning}`), `To look closer: ${assistantCommand('doctor')}`];
}

/** What is set, and what it means now where that is not the same. */
function modelRow(set: string, answers: string | null, isScripted: boolean): string {
  if (answers === null) return `${set} (it cannot be called)`;
  if (set === answers) return set;
  return `${set} (now ${answers}${isScripted ? ': no key of a model provider is set, so the scripted demo answers' : ''})`;
}

function rows(facts: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(facts).map(([name, value]) => `${name.padEnd(9)} ${value}`);
}

function minutes(ms: number): string {
  const total = Math.max(0, Math.floor(ms / 60_000));
  const hours = Math.floor(total / 60);
  return hours === 0 ? `${total} min` : `${hours} h ${total % 60} min`;
}
