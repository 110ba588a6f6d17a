import * as z from 'zod';
import type { Clock } from '../util/clock.ts';
import { defineTool, type Tool } from './tool.ts';
export interface ExecOptions {
  readonly mode: string;
  readonly clock: Clock;
  readonly workspace: string;
  readonly environment: Readonly<Record<string, string>>;
}
export function createExecTool(_options: ExecOptions): Tool {
  return defineTool({
    name: 'exec',
    description: 'tmp',
    parameters: z.object({ command: z.string() }),
    effect: 'effect',
    role: 'owner',
    execute: async ({ command }) => ({ title: 'ran', output: command, metadata: {} }),
  });
}
