import type { ToolRegistry } from '../../tools/registry.ts';
import { renderResult } from '../../tools/result.ts';
import type { ToolContext } from '../../tools/tool.ts';
import { cut } from '../../util/text.ts';
import { commaArguments } from '../comma-arguments.ts';
import type { Command, CommandContext } from './command.ts';

interface CommaPorts {
  readonly registry: Pick<ToolRegistry, 'run' | 'list' | 'named'>;
  /** What the tool is given for this command. */
  readonly toolContext: (context: CommandContext) => Promise<ToolContext>;
}

/** Characters of a result that a chat is shown. */
const MOST_SHOWN = 8_000;

/** `,tool key=value …`: runs a tool through registry and policy, without the model and without tokens. */
export const commaCommand =
  ({ registry, toolContext }: CommaPorts) =>
  (name: string): Command => ({
    name,
    description: 'run this tool directly',
    role: 'owner',
    priority: false,
    interrupts: false,
    run: async (context) => {
      const known = registry.named(name)?.name;
      const schema = registry.list().find(({ tool }) => tool.name === known)?.spec.parameters;
      const call = { name, arguments: commaArguments(context.args, parametersOf(schema)) };
      const result = await registry.run(call, await toolContext(context));
      return fenced(cut(renderResult(result), MOST_SHOWN));
    },
  });

function parametersOf(schema: Readonly<Record<string, unknown>> | undefined): {
  names: readonly string[];
  first: string | undefined;
} {
  const properties = schema?.['properties'];
  const required = schema?.['required'];
  const [first] = Array.isArray(required) ? required : [];
  return {
    names: typeof properties === 'object' && properties !== null ? Object.keys(properties) : [],
    first: typeof first === 'string' ? first : undefined,
  };
}

/** In a fence that is longer than any in the text. */
function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/gu)].map(([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}\n${text}\n${fence}`;
}
