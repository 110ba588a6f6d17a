import { saidIn, type TapeEntry } from '../../core/session/entry.ts';
import { turnOf, type ToolCall } from '../../core/session/turns.ts';
import type { Skill } from '../../core/skills/skill.ts';
import { BATCH } from '../../core/tools/batch.ts';
import { ownName } from '../../core/tools/registry/tool-table.ts';
import { AppError } from '../../core/util/errors.ts';
import { readTrace } from '../../core/agent/replay/trace-file.ts';
import type { Trial } from './trial.ts';
import { parsed, type TrialCall } from './watch.ts';

/** The turn of a saved trace as if it were a trial, and what the person asked in it. */
export interface RecordedTrial {
  readonly prompt: string;
  readonly trial: Trial;
}

/** Reads the turn of a trace file. Throws an error of one sentence for a file that is no trace of a whole turn. */
export async function recordedTrial(
  file: string,
  { name, always }: Pick<Skill, 'name' | 'always'>,
): Promise<RecordedTrial> {
  const { head, lines } = await readTrace(file);
  const entries = lines.flatMap((line) => (line.kind === 'entry' && line.entry.turn === head.turn ? [line.entry] : []));
  const { end, steps, toolCalls, notes } = turnOf(entries);
  if (end === undefined) {
    throw new AppError('trace-incomplete', `The trace holds no whole turn: the end of turn ${head.turn} is not in it.`);
  }
  const asked = steps.find(({ kind }) => kind === 'message');
  return {
    prompt: asked?.kind === 'message' ? saidIn(asked.entry) : '',
    trial: {
      answer: end.answer,
      failed: end.outcome === 'failed' || end.outcome === 'stopped',
      activated: always || entries.some((entry) => skillsOf(entry).includes(name)),
      calls: toolCalls.flatMap(madeBy),
      requests: notes.length,
      usage: end.usage,
      costUsd: end.costUsd,
      model: end.model,
      leftOut: 0,
    },
  };
}

function skillsOf(entry: TapeEntry): readonly string[] {
  return entry.kind === 'message' && entry.role !== 'assistant' ? (entry.skills ?? []) : [];
}

function madeBy({ asked, result }: ToolCall): readonly TrialCall[] {
  const outcome = { output: result?.output ?? '', isError: result?.isError ?? true, instead: null };
  const given = parsed(asked.arguments);
  const call = { tool: ownName(asked.name), arguments: given, ...outcome };
  return [call, ...(call.tool === BATCH ? partsOf(given).map((inner) => ({ ...inner, ...outcome })) : [])];
}

/** The calls inside of a batch; their results are not apart on the tape. */
function partsOf(given: unknown): readonly { readonly tool: string; readonly arguments: unknown }[] {
  const calls: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, 'calls') : [];
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown) =>
    typeof call === 'object' && call !== null && 'tool' in call && typeof call.tool === 'string'
      ? [{ tool: ownName(call.tool), arguments: Reflect.get(call, 'arguments') ?? {} }]
      : [],
  );
}
