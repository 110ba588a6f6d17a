import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant } from '../open.ts';
import { json as jsonText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { HomeFlag, OutputFlags } from '../../core/cli/command.ts';

/** `assistant tools list`. */
export async function toolsListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const tools = await assistant.port.call('toolsList', {});
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  const lines = tools.map(({ name, description, role }) => {
    const [first = ''] = description.split(/(?<=\.)\s|\n/u);
    return `${name.padEnd(width)}  ${first}${role === 'owner' ? ' (owner only)' : ''}`;
  });
  print(context, json, { facts: tools, lines });
  return 0;
}

/** `assistant tools run NAME 'JSON'`: exit code 0 when it was allowed and worked. */
export async function toolsRunCommand(
  given: HomeFlag & { readonly name: string; readonly arguments: string; readonly dryRun: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, given.home);
  const { name, arguments: args, dryRun } = given;
  const report = await assistant.port.call('toolRun', { name, arguments: args, dryRun });
  context.stdout.write(`${jsonText(report)}\n`);
  return report.decision === 'allow' && report.result?.isError !== true ? 0 : 1;
}
