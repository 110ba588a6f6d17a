import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant } from '../../core/cli/open.ts';
import { json as jsonText } from '../../core/cli/format.ts';
import type { HomeFlag } from '../../core/cli/command.ts';

/** `assistant tools list`. */
export function toolLines(tools: RequestResult<'toolsList'>): readonly string[] {
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  return tools.map(({ name, description, role }) => {
    const [first = ''] = description.split(/(?<=\.)\s|\n/u);
    return `${name.padEnd(width)}  ${first}${role === 'owner' ? ' (owner only)' : ''}`;
  });
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
