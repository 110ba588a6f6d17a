import { routeOf } from '../../core/config/agents.ts';
import { agentHome, agentsFolder } from '../../core/config/hosted-home.ts';
import { enabledChannels } from '../../core/config/channels.ts';
import { loadConfig } from '../../core/config/load.ts';
import { namesIn } from '../../core/storage/files.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, type Check } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const agentChecks: readonly Check[] = [
  ...checksOn('configuration', [
    ['agents.valid', 'each further assistant has a valid configuration and a sandbox, and answers somewhere', valid],
  ]),
  ...checksOn('home', [['agents.homes', 'each home below `agents` belongs to a configured assistant', homes]]),
];

async function valid(scene: Scene): Promise<readonly Found[]> {
  const { loaded, paths, command } = scene;
  if (loaded === null) return [];
  const connected = enabledChannels(loaded);
  const findings = Object.entries(loaded.config.agents).map(async ([name, { enabled, routes }]): Promise<Found> => {
    if (!enabled) return note(`The assistant "${name}" is switched off; nobody answers its chats.`);
    const lost = routes.find((route) => connected[routeOf(route).channel] === undefined);
    if (lost !== undefined) {
      const remedy = `Correct agents.${name}.routes in ${paths.config}`;
      return warning(`The assistant "${name}" has the route ${lost}, and there is no such channel.`, remedy);
    }
    if (routes.length === 0)
      return note(
        `The assistant "${name}" has no routes: it is reached in a terminal only.`,
        command(`chat --agent ${name}`),
      );
    try {
      const own = await loadConfig({
        program: scene.program,
        home: agentHome(paths.home, name),
        env: scene.env,
        host: loaded,
      });
      const { mode, sandbox } = own.config.tools.exec;
      if (mode === 'full' || (mode !== 'off' && sandbox === 'off')) {
        const sentence = `Commands of the assistant "${name}" run without a sandbox, so they can read the homes of the others.`;
        return warning(sentence, `Set agents.${name}.tools.exec.mode to "auto" in ${paths.config}`);
      }
      return ok(`The assistant "${name}" has a valid configuration.`);
    } catch (error) {
      return failed(
        `The assistant "${name}" cannot start: ${errorMessage(error)}`,
        command(`config edit --agent ${name}`),
      );
    }
  });
  return await Promise.all(findings);
}

async function homes({ loaded, paths }: Scene): Promise<readonly Found[]> {
  const { agents } = loaded?.config ?? { agents: {} };
  const folder = agentsFolder(paths.home);
  return (await namesIn(folder)).flatMap((name) =>
    Object.hasOwn(agents, name)
      ? []
      : [note(`There is a home of an assistant "${name}" that is not configured; it is kept and not started.`)],
  );
}
