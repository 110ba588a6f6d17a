import * as z from 'zod';
import { oneLine } from '../util/text.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from './tool.ts';

export interface SpawnRequest {
  readonly task: string;
  readonly label: string;
  readonly wait: boolean;
  /** `temp`, `inherit`, or the name of a colleague. */
  readonly session: string;
  readonly tools: readonly string[] | null;
  readonly model: string | null;
}

/** Who carries tasks out. */
export interface SpawnDesk {
  /** Begins a task, or finds the one that this call began before; with `wait` resolves at its end. */
  readonly spawn: (request: SpawnRequest, context: ToolContext) => Promise<ToolResult>;
}

const LONGEST_TASK = 20_000;
const LONGEST_LABEL = 60;

const parameters = z.object({
  task: z.string().trim().min(1).max(LONGEST_TASK).describe('All it needs'),
  label: z.string().optional(),
  wait: z.boolean().optional().describe('For it'),
  session: z
    .string()
    .regex(/^[A-Za-z][\w-]{0,39}$/u, { error: 'expected temp, inherit, or a name of letters, digits, - and _' })
    .optional()
    .describe('temp, inherit: knows this talk, or a lasting name'),
  tools: z.array(z.string()).max(100).optional(),
  model: z.string().optional(),
});

/** Gives a task to a subagent, which has no more rights than the turn that asks. */
export function spawnTool(desk: SpawnDesk): Tool {
  return defineTool({
    name: 'spawn',
    description: 'Give a subagent a task; its result comes later.',
    parameters,
    role: 'owner',
    // Its call names the task: a second start after a crash finds the first one's.
    effect: 'idempotent',
    waits: true,
    execute: async ({ task, label, wait, session, tools, model }, context) => {
      const request = {
        task,
        label: oneLine(label ?? task, LONGEST_LABEL).replaceAll('"', "'"),
        wait: wait ?? false,
        session: session ?? 'temp',
        tools: tools ?? null,
        model: model ?? null,
      };
      return await desk.spawn(request, context);
    },
  });
}
