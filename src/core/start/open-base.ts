import type { Config } from '../config/schema.ts';
import { SettingsStore } from '../config/settings-store.ts';
import type { Starts } from '../journal/starts.ts';
import type { Plugin } from '../plugins/plugin.ts';
import { configFindings, waitingFindings, type Base, type Ground } from '../assistant/base.ts';
import { PluginHost } from '../plugins/plugins.ts';
import type { AssistantSettings } from '../library/assistant.ts';
import { safeConfig, safeModeFinding } from './safe-mode.ts';
import type { Finding } from '../util/finding.ts';

interface BaseParts extends Pick<AssistantSettings, 'rehearsal' | 'wrapTool'> {
  readonly given: readonly Plugin[];
  /** What the stores found at this start. */
  readonly found: readonly Finding[];
}

/** Reads the settings and loads the plugins. The start is counted before: a plugin that kills the process counts too. */
export async function openBase(
  ground: Ground,
  starts: Starts,
  { rehearsal = false, wrapTool, given, found }: BaseParts,
): Promise<Base> {
  const safe = starts.isLoop || rehearsal;
  // A trial is offered the tools of servers and runs none of them.
  const adapt = safe && wrapTool === undefined ? (loaded: Config) => safeConfig(loaded, ground.program) : undefined;
  const settings = new SettingsStore(ground.loaded, adapt);
  const { config } = settings;
  const { plugged, clock } = ground;
  const { plugins: folder, pluginPins: pins } = ground.paths;
  const { program } = ground;
  const plugins = await PluginHost.open({
    folder,
    pins,
    config,
    program,
    plugged,
    clock,
    log: ground.log,
    safe,
    rehearsal,
    given,
  });
  return {
    ...ground,
    config,
    settings,
    plugins,
    safe,
    get findings() {
      return [
        ...(safe ? [safeModeFinding(starts)] : []),
        ...configFindings(settings.loaded, process.getuid?.()),
        ...waitingFindings(settings),
        ...found,
        ...plugins.findings,
        ...ground.further.findings,
      ];
    },
  };
}
