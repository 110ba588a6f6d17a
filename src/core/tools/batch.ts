import * as z from 'zod';
import type { KeepWhole, ToolRegistry } from './registry/registry.ts';
import { capOutput, errorResult, renderResult } from './registry/result.ts';
import { defineTool, type Tool, type ToolContext, type ToolResult } from './tool.ts';

export interface BatchOptions {
  readonly registry: Pick<ToolRegistry, 'effectOf' | 'named'>;
  /** Characters that all results share. */
  readonly maxOutput: number;
  /** Keeps what is longer than its share, where the session can read it; returns the path. */
  readonly spill: KeepWhole;
}

export const BATCH = 'batch';
const MOST_CALLS = 10;
/** Of the line above a result. */
const HEADING = 40;
/** No result is cut below this. */
const LEAST = 1_000;

/** What a batch cannot hold, and why. */
const ALONE: Readonly<Record<string, string>> = {
  [BATCH]: 'a batch cannot hold another one',
  skill: 'a skill is loaded by a call of its own',
};

const parameters = z.object({
  calls: z
    .array(
      z.object({
        tool: z.string().min(1).describe('Name of the tool, e.g. read_file.'),
        arguments: z
          .record(z.string(), z.unknown())
          .default({})
          .describe('Its arguments, e.g. {"path": "notes/todo.md"}. Default: {}.'),
      }),
    )
    .min(1)
    .max(MOST_CALLS)
    .describe('The calls, of any tools but batch and skill.'),
});
type InnerCall = z.infer<typeof parameters>['calls'][number];

/**
 * Several calls as one. Each is decided about, asked about, written down and bounded as if it stood alone, so after a crash
 * the batch itself may be run again: what had begun is not. Calls that only read run side by side, all others in order.
 */
export function batchTool(options: BatchOptions): Tool {
  const { registry, maxOutput, spill } = options;

  const runOne = async (
    { tool, arguments: given }: InnerCall,
    n: number,
    context: ToolContext,
  ): Promise<ToolResult> => {
    const why = ALONE[registry.named(tool)?.name ?? tool];
    if (why !== undefined) return errorResult(tool, `Not run: ${why}.`);
    if (context.runPart === null) return errorResult(tool, 'Not run: calls are put together only in a turn.');
    return await context.runPart(n, { name: tool, arguments: JSON.stringify(given) });
  };

  const runAll = async (calls: readonly InnerCall[], context: ToolContext): Promise<readonly ToolResult[]> => {
    const results: ToolResult[] = [];
    for (let at = 0; at < calls.length;) {
      const rest = calls.slice(at);
      const others = rest.findIndex(({ tool }) => registry.effectOf(tool, context.call.sessionKey) !== 'none');
      const together = rest.slice(0, others === -1 ? rest.length : Math.max(1, others));
      const first = at + 1;
      results.push(...(await Promise.all(together.map((call, i) => runOne(call, first + i, context)))));
      at += together.length;
      context.signal.throwIfAborted();
    }
    return results;
  };

  /** The result as the model reads it, in at most `space` characters. */
  const fitted = async (
    rendered: string,
    n: number,
    space: number,
    result: ToolResult,
    context: ToolContext,
  ): Promise<string> => {
    if (rendered.length <= space) return rendered;
    // A page of something longer is not kept: the whole can be read as before.
    const isPage = result.metadata['truncated'] === true;
    const inner = { ...context.call, id: `${context.call.id}.${n}.part` };
    const kept = isPage ? undefined : await spill(inner, rendered).catch(() => undefined);
    return capOutput(rendered, space, kept);
  };

  return defineTool({
    name: BATCH,
    onlyReads: true,
    description: `Run up to ${MOST_CALLS} tool calls as one. Use it when none needs the result of another and you cannot make several calls in one reply, which does the same. Those that only read run side by side; a failure does not stop the rest. The results share ${maxOutput} characters: read long files by themselves.`,
    parameters,
    effect: 'idempotent',
    waits: true,
    onlyParts: true,
    async execute({ calls }, context) {
      const results = await runAll(calls, context);
      const rendered = results.map(renderResult);
      const spaces = shares(
        rendered.map(({ length }) => length),
        maxOutput - results.length * HEADING,
      );
      const parts = await Promise.all(
        results.map((result, i) => fitted(rendered[i] ?? '', i + 1, spaces[i] ?? LEAST, result, context)),
      );
      const failed = results.filter(({ isError }) => isError === true).length;
      const media = results.flatMap((result) => result.media ?? []);
      const effects = results.flatMap((result) => result.effects ?? []);
      return {
        title: `batch of ${results.length}`,
        output: parts.map((part, i) => `# ${i + 1} of ${parts.length}\n${part}`).join('\n\n'),
        metadata: { failed, truncated: parts.some((part, i) => part !== rendered[i]) },
        ...(failed === results.length ? { isError: true } : {}),
        ...(results.some(({ untrusted }) => untrusted === true) ? { untrusted: true } : {}),
        // Which part of the output is whose can't be told any more.
        ...(results.every(({ author }) => author === 'outside') ? { author: 'outside' as const } : {}),
        ...(results.some((result) => result.private === true) ? { private: true } : {}),
        ...(media.length > 0 ? { media } : {}),
        ...(effects.length > 0 ? { effects } : {}),
      };
    },
  });
}

/** What each may have of `all`: the short what they need, the long the same of what is left. */
function shares(lengths: readonly number[], all: number): readonly number[] {
  const spaces = lengths.map(() => 0);
  const order = [...lengths.keys()].toSorted((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0));
  let left = all;
  for (const [done, i] of order.entries()) {
    const fair = Math.max(LEAST, Math.floor(left / (order.length - done)));
    spaces[i] = Math.min(lengths[i] ?? 0, fair);
    left -= spaces[i];
  }
  return spaces;
}
