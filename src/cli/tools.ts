import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

/** `assistant tools list`. */
export async function toolsListCommand(flags: Readonly<Record<string, unknown>>, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const tools = await assistant.port.tools();
  if (flags['json'] === true) {
    context.stdout.write(`${json(tools)}\n`);
    return 0;
  }
  const width = Math.max(0, ...tools.map(({ name }) => name.length));
  for (const { name, description, role } of tools) {
    const [first = ''] = description.split(/(?<=\.)\s|\n/u);
    context.stdout.write(
      `${escapeInvisible(name).padEnd(width)}  ${escapeInvisible(first)}${role === 'owner' ? ' (owner only)' : ''}\n`,
    );
  }
  return 0;
}

/** `assistant tools run NAME 'JSON'`: exit code 0 when it was allowed and worked. */
export async function toolsRunCommand(
  flags: Readonly<Record<string, unknown>>,
  context: CliContext,
  [name = '', given = '{}']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const report = await assistant.port.runTool({ name, arguments: given, dryRun: flags['dryRun'] === true });
  context.stdout.write(`${json(report)}\n`);
  return report.decision === 'allow' && report.result?.isError !== true ? 0 : 1;
}
