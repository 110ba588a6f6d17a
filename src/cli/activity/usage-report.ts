import type { RequestParams } from '../../core/gateway/operations/operations.ts';
import type { UsageSums } from '../../core/gateway/operations/usage.ts';
import { costText, countText } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { print } from '../../core/cli/print.ts';
import { openAssistant } from '../open.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant usage`. */
export async function usageCommand(
  { by, days, home, json }: OutputFlags & RequestParams<'usage'>,
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const { rows } = await assistant.port.call('usage', { by, days });
  const sorted = by === 'day' ? rows : rows.toSorted((a, b) => b.costUsd - a.costUsd || tokensOf(b) - tokensOf(a));
  const lines = table([HEAD, ...sorted.map(cells), ...(rows.length > 1 ? [cells(totalOf(rows))] : [])]);
  print(context, json, {
    facts: { by, days, rows: sorted },
    lines: rows.length === 0 ? [] : lines,
    nothing: 'No model was called in this time.',
  });
  return 0;
}

const HEAD = ['', 'calls', 'tokens in', 'cached', 'tokens out', 'cost'] as const;

function cells(sums: UsageSums): readonly string[] {
  const { name, calls, input, cached, output } = sums;
  const percent = input === 0 ? '' : `${Math.round((100 * cached) / input)}%`;
  return [name, countText(calls), countText(input), percent, countText(output), costText(sums)];
}

function totalOf(rows: readonly UsageSums[]): UsageSums {
  const sum = (field: 'calls' | 'input' | 'cached' | 'output' | 'costUsd' | 'unpriced'): number =>
    rows.reduce((before, row) => before + row[field], 0);
  return {
    name: 'together',
    calls: sum('calls'),
    input: sum('input'),
    cached: sum('cached'),
    output: sum('output'),
    costUsd: sum('costUsd'),
    unpriced: sum('unpriced'),
  };
}

/** Lines with the first column on the left and numbers on the right. */
function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = HEAD.map((_, column) => Math.max(...rows.map((row) => (row[column] ?? '').length)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

function tokensOf({ input, output }: UsageSums): number {
  return input + output;
}
