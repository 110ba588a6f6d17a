import { errorMessage } from '../../core/util/errors.ts';
import { oneLine, plural } from '../../core/util/text.ts';
import { failed, note, ok, skipped, warning, type Check, type Finding } from '../check.ts';
import type { Scene } from '../scene.ts';

export const extensionChecks: readonly Check[] = [
  {
    id: 'skills.usable',
    subject: 'extensions',
    about: 'each skill can be read, and none waits for your yes',
    run: skills,
  },
  {
    id: 'mcp.server',
    subject: 'extensions',
    about: 'each MCP server starts and lists its tools',
    live: true,
    run: mcp,
  },
  {
    id: 'plugins.there',
    subject: 'extensions',
    about: 'each plugin of the configuration is installed, and runs in the gateway',
    run: plugins,
  },
];

async function skills({ loaded, ports, command }: Scene): Promise<readonly Finding[]> {
  if (loaded === null) return [];
  const { usable, troubles, waiting } = await ports.skills(loaded);
  const findings: Finding[] = troubles.map((sentence) => warning(oneLine(sentence, 300), command('skills check')));
  if (waiting > 0)
    findings.push(
      note(
        `${plural(waiting, 'skill')} of other programs ${waiting === 1 ? 'waits' : 'wait'} for your yes.`,
        command('skills list'),
      ),
    );
  return findings.length === 0 ? [ok(`${plural(usable, 'skill')} can be used.`)] : findings;
}

async function mcp(scene: Scene, signal: AbortSignal): Promise<readonly Finding[]> {
  const { loaded, gateway, ports, command } = scene;
  if (loaded === null) return [];
  const names = Object.entries(loaded.config.mcpServers).flatMap(([name, { enabled }]) => (enabled ? [name] : []));
  if (names.length === 0) return [];
  if (gateway !== null) {
    const known = new Map((await gateway.mcp()).map((one) => [one.name, one]));
    return names.map((name) => {
      const found = known.get(name);
      if (found === undefined)
        return note(`The MCP server ${name} is not known to the running assistant.`, 'Send /restart to the assistant');
      if (found.trouble !== null)
        return failed(
          `The MCP server ${name} does not work: ${found.trouble.replace(/\.$/u, '')}.`,
          command(`mcp test ${name}`),
        );
      return found.state === 'off'
        ? skipped(`The MCP server ${name} is off.`)
        : ok(`The MCP server ${name} has no trouble.`);
    });
  }
  return Promise.all(
    names.map(async (name) => {
      try {
        const { tools } = await ports.tryMcp(loaded, name, signal);
        return ok(`The MCP server ${name} starts and has ${plural(tools, 'tool')}.`);
      } catch (error) {
        const why = signal.aborted
          ? 'it did not answer in time'
          : oneLine(errorMessage(error), 300).replace(/\.$/u, '');
        return failed(`The MCP server ${name} does not work: ${why}.`, command(`mcp test ${name}`));
      }
    }),
  );
}

async function plugins({ loaded, ports, paths, gateway, command }: Scene): Promise<readonly Finding[]> {
  const listed = loaded?.config.plugins ?? [];
  if (listed.length === 0) return [];
  const found = await ports.plugins(paths);
  const broken = new Set(gateway === null ? [] : await gateway.failedPlugins());
  return listed.map((name) => {
    if (!found.includes(name))
      return failed(`The plugin ${name} is not in ${paths.plugins}.`, command(`plugins add ${name}`));
    if (broken.has(name)) return failed(`The plugin ${name} does not run.`, command('plugins list'));
    return ok(`The plugin ${name} is there.`);
  });
}
