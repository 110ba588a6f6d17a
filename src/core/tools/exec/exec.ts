import { defineTool, type Tool } from '../tool.ts';
import { ExecDecisions, requestFor } from './decision.ts';
import { Enclosure } from './enclosure.ts';
import { Execution } from './execution.ts';
import { onlyReads } from './only-reads.ts';
import type { ExecOptions } from './options.ts';
import { descriptionOf, LONGEST_SECONDS, parametersFor } from './spec.ts';
import { OUTPUT_SOURCE } from './taint.ts';

/** Room to end a command that ran into its own limit. */
const TOOL_TIMEOUT_MS = (LONGEST_SECONDS + 5) * 1000;

/** The tool that runs commands: decided in `decision.ts`, enclosed as `enclosure.ts` says, run in `execution.ts`. */
export function createExecTool(options: ExecOptions): Tool {
  const enclosure = new Enclosure(options);
  const decisions = new ExecDecisions(options, enclosure);
  const execution = new Execution(options, enclosure, decisions);
  return defineTool({
    name: 'exec',
    fits: 'tiny',
    source: OUTPUT_SOURCE,
    description: descriptionOf(options),
    parameters: parametersFor(Math.min(options.timeoutSeconds, LONGEST_SECONDS)),
    effect: 'effect',
    targets: ({ command }) => [{ kind: 'command', target: command, ...(onlyReads(command) ? { minor: true } : {}) }],
    role: 'owner',
    timeoutMs: TOOL_TIMEOUT_MS,
    decide: (params, context) => decisions.decide(params, context),
    binds: async (params, context) => ({ ...(await decisions.profile(params, context)) }),
    shows: (params) => requestFor(params).detail,
    async action(params) {
      if ((await enclosure.reachOf(params)) === 'workspace') return null;
      return { action: { kind: 'networked-exec' }, ...requestFor(params) };
    },
    execute: (params, context) => execution.run(params, context),
  });
}
