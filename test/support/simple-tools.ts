import * as z from 'zod';
import { ToolRegistry, type RegistryOptions } from '../../src/core/tools/registry/registry.ts';
import {
  defineTool,
  type Denied,
  type Executed,
  type Plan,
  type Tool,
  type ToolContext,
  type ToolResult,
} from '../../src/core/tools/tool.ts';
import { VirtualClock } from './virtual-clock.ts';

/** What `makeRegistry` takes out of everything. */
export const TOKEN = 'sk-very-secret-value';

/** A registry that lets everybody but guests call everything, under time that stands still. */
export function makeRegistry(tools: readonly Tool[], options: Partial<RegistryOptions> = {}): ToolRegistry {
  const registry = new ToolRegistry({
    policy: { allow: ['*'], deny: [], guest: [] },
    clock: new VirtualClock(),
    redact: (text) => text.replaceAll(TOKEN, '[redacted]'),
    maxOutput: 16_000,
    ...options,
  });
  for (const tool of tools) registry.register(tool);
  return registry;
}

export type Execute = (params: Record<string, unknown>, context: ToolContext) => Promise<Executed>;

export interface TestTool extends Partial<Omit<Tool, 'name' | 'parameters' | 'plan'>> {
  readonly execute?: Execute;
  /** What its plans hold beside `run`, or why they are denied. */
  readonly plans?: (
    params: Record<string, unknown>,
    context: ToolContext,
  ) => Omit<Plan, 'run'> | Denied | Promise<Omit<Plan, 'run'> | Denied>;
}

/** A tool that does nothing and says `done`. */
export function tool(
  name: string,
  { execute = async () => result('done'), plans = () => ({}), ...traits }: TestTool = {},
): Tool {
  return defineTool({
    name,
    description: `The tool ${name}.`,
    parameters: z.object({ text: z.string().optional().describe('Anything') }),
    effect: 'none',
    ...traits,
    plan: async (params, context) => {
      const planned = await plans(params, context);
      if ('denied' in planned) return planned;
      return { run: (signal) => execute(params, { ...context, signal }), ...planned };
    },
  });
}

export function result(output: string, overrides: Partial<ToolResult> = {}): ToolResult {
  return { title: 'ran', output, metadata: {}, ...overrides };
}

export const call = (name: string, args = '{}'): { name: string; arguments: string } => ({ name, arguments: args });

/** Asks for a yes before it does anything, and records with which approval it ran. */
export function askingTool(approvedWith: (string | undefined)[]): Tool {
  return tool('send', {
    effect: 'effect',
    plans: () => ({ asks: { title: 'Send', detail: 'send 5 to Ann', reason: 'it leaves the machine' } }),
    execute: async (_params, { approval }) => {
      approvedWith.push(approval?.covers);
      return result('sent');
    },
  });
}
