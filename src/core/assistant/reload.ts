import { createHash } from 'node:crypto';
import { ConfigError, placed } from '../config/config-error.ts';
import type { LoadedConfig } from '../config/load.ts';
import type { SettingChange } from '../config/settings-store.ts';
import { pathText } from '../config/setting.ts';
import { watchEditedFile } from '../config/watch-file.ts';
import type { App } from '../app.ts';
import { sleep } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import type { ReloadReport } from '../library/assistant.ts';

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

/**
 * Reloads come one after the other. What is wrong is refused as a whole, and the owner is told once. `keepFiles` resolves
 * when all that keeps the home has the file; with a sentence when that may not be so. It never rejects.
 */
export function createReloader(app: App, keepFiles: (() => Promise<string | null>) | undefined): Reloader {
  const { settings, log, clock, paths } = app;
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
      const loaded = await app.rehearse();
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
      await app.notices.warn(
        `config-refused:${app.startedAt}:${refusals}:${hash}`,
        `I did not apply the changed configuration: ${sentence} I keep running with the previous settings, and apply the file as soon as it is corrected.`,
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
    app.learnSecrets(loaded.secrets);
    const changes = settings.compare(loaded);
    const variables = JSON.stringify(settings.loaded.keyVariables) !== JSON.stringify(loaded.keyVariables);
    settings.replace(loaded);
    await applyPlugins(app);
    await apply(changes, app, { keyVariables: loaded.keyVariables, reopens: variables });
    const shown = changes.map(({ path, effect }) => ({ path: pathText(path), effect }));
    if (changes.some(({ path: [section = ''] }) => FURTHER.has(section))) await app.further.update();
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
      const behind = (await keepFiles?.()) ?? null;
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
async function applyPlugins(app: App): Promise<void> {
  const { plugins, config, settings, log, tools, hooks, skills, channels, models } = app;
  try {
    const kinds = await plugins.load();
    if (kinds === null) return;
    const guard = (): void => hooks.setPlugins([...plugins.running, ...plugins.missingGuards]);
    // Guards hold before anything new is opened.
    guard();
    await plugins.openNew();
    guard();
    plugins.registerTools(tools);
    skills.rootsChanged();
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
  { channels, models, plugins, tools, log }: App,
  /** `reopens`: the variables of keys are others. */
  { keyVariables, reopens }: Pick<LoadedConfig, 'keyVariables'> & { readonly reopens: boolean },
): Promise<void> {
  const entriesOf = (section: string): readonly string[] =>
    changes.flatMap(({ path: [first, name] }) => (first === section && name !== undefined ? [name] : []));
  if (reopens || entriesOf('providers').length > 0) models.reopen(keyVariables);
  if (changes.some(({ path: [first] }) => first === 'tools')) tools.policyChanged();
  const names = entriesOf('channels');
  const rebuilt = changes.filter(({ effect }) => effect === 'rebuild').map(({ path }) => path);
  const steps = [
    ...(names.length === 0 ? [] : [['channels', names, () => channels.update(names)] as const]),
    ...plugins.each('rebuild').map(([name, rebuild]) => [name, rebuilt, () => rebuild(rebuilt)] as const),
  ];
  for (const [what, changed, update] of steps) {
    await update().catch((error: unknown) =>
      log.error(`config: ${what} not started anew`, { changed, reason: errorMessage(error) }),
    );
  }
}
