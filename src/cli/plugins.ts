import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

const HOW: Readonly<Record<string, string>> = {
  'not enabled': 'found, not enabled (list it in "plugins")',
  'safe mode': 'not loaded, because the assistant runs in safe mode (/restart ends it)',
};

/** `assistant plugins [list]`. */
export async function pluginsListCommand(
  flags: Readonly<Record<string, unknown>>,
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const plugins = await assistant.port.request('pluginsList', {});
  const lines = plugins.map(({ name, version, state }) => {
    const how = HOW[state] ?? state;
    return `${name}${version === null || version === '' ? '' : ` ${version}`}: ${how}`;
  });
  const shown = flags['json'] === true ? json(plugins) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${shown === '' ? 'There are no plugins.' : shown}\n`);
  return 0;
}
