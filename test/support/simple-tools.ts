import * as z from 'zod';
import { ToolRegistry, type RegistryOptions } from '../../src/core/tools/registry/registry.ts';
import { defineTool, type Tool, type ToolResult } from '../../src/core/tools/tool.ts';
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

/** A tool that does nothing and says `done`. */
export function tool(name: string, overrides: Partial<Omit<Tool, 'name' | 'parameters'>> = {}): Tool {
  return defineTool({
    name,
    description: `The tool ${name}.`,
    parameters: z.object({ text: z.string().optional().describe('Anything') }),
    effect: 'none',
    execute: async () => result('done'),
    ...overrides,
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
    decide: () => ({
      decision: 'ask',
      reason: 'it leaves the machine',
      request: { title: 'Send', detail: 'send 5 to Ann', reason: 'it leaves the machine' },
    }),
    execute: async (_params, { approval }) => {
      approvedWith.push(approval?.covers);
      return result('sent');
    },
  });
}
