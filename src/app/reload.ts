import { createHash } from 'node:crypto';
import { ConfigError, placed } from '../config/config-error.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { SettingChange } from '../config/settings-store.ts';
import { pathText } from '../config/setting.ts';
import { watchEditedFile } from '../config/watch-file.ts';
import type { ToolRegistry } from '../tools/registry/registry.ts';
import { sleep } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { Base } from './base.ts';
import type { Channels } from './channels.ts';
import type { HookRunner } from '../agent/hooks/hooks.ts';
import type { SkillCatalog } from '../skills/catalog.ts';
import type { ReloadReport } from './library/assistant.ts';
import type { Mcp } from './tools/mcp.ts';
import type { Models } from './agent/models.ts';
import type { TellOwner } from './tell-owner.ts';

/** A change that the watcher applied less than this before a request is reported to that request. */
const RECENT_MS = 5_000;
/** How long a program may take to write the file. */
const WRITTEN_MS = 150;
/** The sections of which further assistants have a part. */
const FURTHER: ReadonlySet<string> = new Set(['agents', 'providers', 'models', 'channels']);

/** Applies changes of the configuration while the assistant runs. */
export interface Reloader extends AsyncDisposable {
  /**
   * Reads the configuration and applies what changed. Resolves when it is in force; never rejects. The report also names
   * changes that the watcher of the file applied just before.
   */
  reload(): Promise<ReloadReport>;
  /** Does so from now on whenever the file changes. */
  start(): void;
}

export interface ReloadParts {
  /** Reads the configuration as a start would; rejects with one sentence when it cannot run like that. */
  readonly load: () => Promise<LoadedConfig>;
  readonly tellOwner: TellOwner;
  readonly channels: Pick<Channels, 'update'>;
  readonly models: Pick<Models, 'reopen'>;
  readonly mcp: Pick<Mcp, 'update' | 'connectNew'>;
  readonly registry: ToolRegistry;
  readonly hooks: Pick<HookRunner, 'setPlugins'>;
  readonly catalog: Pick<SkillCatalog, 'rootsChanged'>;
  /** Takes up what changed for the further assistants. Never rejects. */
  readonly further: () => Promise<void>;
  /** Resolves when all that keeps the home has the file; with a sentence when that may not be so. Never rejects. */
  readonly keepFiles: (() => Promise<string | null>) | undefined;
  /** Takes these out of every text too, from now on. */
  readonly learnSecrets: (secrets: readonly string[]) => void;
}

/** Reloads come one after the other. What is wrong is refused as a whole, and the owner is told once. */
export function createReloader(base: Base, parts: ReloadParts): Reloader {
  const { settings, log, clock, paths } = base;
  let last: Promise<unknown> = Promise.resolve();
  let watching: Disposable | undefined;
  /** The sentence that the owner was told last; null after a configuration that can run. */
  let told: string | null = null;
  let refusals = 0;
  /** What the watcher took up and no one asked about yet. */
  let unasked: { readonly at: number; readonly changes: ReloadReport['changes'] }[] = [];

  /** What the configuration is now, or what is wrong with it. */
  const read = async (): Promise<LoadedConfig | string> => {
    try {
      const loaded = await parts.load();
      if (!loaded.isEmpty || settings.loaded.isEmpty) return loaded;
      return `${loaded.path} is empty or gone. Put the settings back, or write {} for the defaults.`;
    } catch (error) {
      return sentenceOf(error, settings.loaded.path);
    }
  };

  const refuse = async (sentence: string): Promise<ReloadReport> => {
    if (told !== sentence) {
      told = sentence;
      refusals += 1;
      log.error('config: change refused, the running configuration stays', { reason: sentence });
      const hash = createHash('sha256').update(sentence).digest('hex').slice(0, 12);
      await parts.tellOwner(
        `config-refused:${base.startedAt}:${refusals}:${hash}`,
        `⚠ I did not apply the changed configuration: ${sentence} I keep running with the previous settings, and apply the file as soon as it is corrected.`,
      );
    }
    return { changes: [], refused: sentence };
  };

  const once = async (): Promise<ReloadReport> => {
    let loaded = await read();
    if (typeof loaded === 'string') {
      // A program may be in the middle of writing it.
      await sleep(clock, WRITTEN_MS);
      loaded = await read();
    }
    if (typeof loaded === 'string') return await refuse(loaded);
    told = null;
    // Old secrets stay known: they may stand in what was written before.
    parts.learnSecrets(loaded.secrets);
    const changes = settings.compare(loaded);
    const variables = JSON.stringify(settings.loaded.keyVariables) !== JSON.stringify(loaded.keyVariables);
    settings.replace(loaded);
    await applyPlugins(base, parts);
    await apply(changes, { ...parts, keyVariables: loaded.keyVariables, reopens: variables, log });
    const shown = changes.map(({ path, effect }) => ({ path: pathText(path), effect }));
    if (changes.some(({ path: [section = ''] }) => FURTHER.has(section))) await parts.further();
    if (shown.length > 0) {
      const named = (effect: SettingChange['effect']): readonly string[] =>
        shown.flatMap((change) => (change.effect === effect ? [change.path] : []));
      log.info('config: change applied', {
        live: named('live'),
        startedAnew: named('rebuild'),
        waitsForRestart: named('restart'),
      });
    }
    return { changes: shown, refused: null };
  };

  const queued = (): Promise<ReloadReport> => {
    const next = last.then(once).catch((error: unknown) => {
      log.error('config: reload failed', { reason: errorMessage(error) });
      return { changes: [], refused: errorMessage(error) };
    });
    last = next;
    return next;
  };
  const look = async (): Promise<void> => {
    const { changes } = await queued();
    const at = clock.monotonic();
    unasked = [...unasked.filter((known) => at - known.at < RECENT_MS), { at, changes }];
  };
  return {
    reload: async () => {
      const { changes, refused } = await queued();
      const behind = (await parts.keepFiles?.()) ?? null;
      const recent = unasked.filter(({ at }) => clock.monotonic() - at < RECENT_MS);
      unasked = [];
      const all = [...recent.flatMap((known) => known.changes), ...changes];
      const named = [...new Map(all.map((change) => [change.path, change])).values()];
      return { changes: named, refused, ...(behind === null ? {} : { behind }) };
    },
    start: () => {
      watching = watchEditedFile(paths.config, () => void look(), clock);
      // It may have been changed between the start and now.
      void look();
    },
    [Symbol.asyncDispose]: async () => {
      watching?.[Symbol.dispose]();
      await last;
    },
  };
}

/** Everything that is wrong, with line and column where it stands in the file. */
function sentenceOf(error: unknown, file: string): string {
  if (!(error instanceof ConfigError)) return errorMessage(error);
  return error.problems.map((problem) => placed(problem, file)).join(' ');
}

/** Takes up what changed of the plugins: only what they bring is started anew. Never rejects. */
async function applyPlugins(
  { plugins, config, settings, log }: Base,
  { registry, hooks, catalog, channels, models }: ReloadParts,
): Promise<void> {
  try {
    const kinds = await plugins.load();
    if (kinds === null) return;
    hooks.setPlugins([...plugins.running, ...plugins.missingGuards]);
    plugins.registerTools(registry);
    catalog.rootsChanged();
    models.reopen(settings.loaded.keyVariables);
    const entries = Object.entries(config.channels).filter(([name, { kind }]) => kinds.has(kind ?? name));
    await channels.update(entries.map(([name]) => name));
    log.info('plugins: changed', { running: plugins.running.map(({ name }) => name) });
  } catch (error) {
    log.error('plugins: not loaded anew', { reason: errorMessage(error) });
  }
}

/** Starts anew what the changes belong to, and nothing else. */
async function apply(
  changes: readonly SettingChange[],
  {
    channels,
    models,
    mcp,
    registry,
    keyVariables,
    reopens,
    log,
  }: Omit<ReloadParts, 'load'> &
    Pick<LoadedConfig, 'keyVariables'> &
    Pick<Base, 'log'> & { /** The variables of keys are others. */ readonly reopens: boolean },
): Promise<void> {
  const entriesOf = (section: string): readonly string[] =>
    changes.flatMap(({ path: [first, name] }) => (first === section && name !== undefined ? [name] : []));
  if (reopens || entriesOf('providers').length > 0) models.reopen(keyVariables);
  if (changes.some(({ path: [first] }) => first === 'tools')) registry.policyChanged();
  const steps = [
    { names: entriesOf('channels'), update: channels.update, what: 'channels' },
    { names: entriesOf('mcpServers'), update: mcp.update, what: 'MCP servers' },
  ];
  for (const { names, update, what } of steps) {
    if (names.length === 0) continue;
    await update(names).catch((error: unknown) =>
      log.error(`config: ${what} not started anew`, { names, reason: errorMessage(error) }),
    );
  }
  if (entriesOf('mcpServers').length > 0) mcp.connectNew();
}
