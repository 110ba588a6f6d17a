import type { CliContext } from '../context.ts';
import { openAssistant } from '../open.ts';
import { print } from '../print.ts';
import type { OutputFlags } from '../table/command.ts';

const HOW: Readonly<Record<string, string>> = {
  'not enabled': 'found, not enabled (list it in "plugins")',
  'safe mode': 'not loaded, because the assistant runs in safe mode (/restart ends it)',
};

/** `assistant plugins [list]`. */
export async function pluginsListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const plugins = await assistant.port.request('pluginsList', {});
  const lines = plugins.map(({ name, version, state }) => {
    const how = HOW[state] ?? state;
    return `${name}${version === null || version === '' ? '' : ` ${version}`}: ${how}`;
  });
  print(context, json, { facts: plugins, lines, nothing: 'There are no plugins.' });
  return 0;
}
