import { saidIn, type MessageEntry, type TapeEntry } from '../../core/session/entry.ts';
import type { Skill } from '../../core/skills/skill.ts';
import { BATCH } from '../../core/tools/batch.ts';
import { ownName } from '../../core/tools/registry/tool-table.ts';
import { AppError } from '../../core/util/errors.ts';
import { callsOf } from '../traces/rebuild.ts';
import { parseTrace } from '../traces/trace-file.ts';
import type { Trial } from './trial.ts';
import { parsed, type TrialCall } from './watch.ts';

/** The turn of a saved trace as if it were a trial, and what the person asked in it. */
export interface RecordedTrial {
  readonly prompt: string;
  readonly trial: Trial;
}

/** Reads the turn of a trace file. Throws an error of one sentence for a text that is no trace of a whole turn. */
export function recordedTrial(text: string, { name, always }: Pick<Skill, 'name' | 'always'>): RecordedTrial {
  const { head, lines } = parseTrace(text);
  const entries = lines.flatMap((line) => (line.kind === 'entry' && line.entry.turn === head.turn ? [line.entry] : []));
  const end = entries.find((entry) => entry.kind === 'turn-end');
  if (end === undefined) {
    throw new AppError('trace-incomplete', `The trace holds no whole turn: the end of turn ${head.turn} is not in it.`);
  }
  const asked = entries.find((entry) => entry.kind === 'message' && entry.role === 'user');
  return {
    prompt: asked === undefined ? '' : saidIn(asked),
    trial: {
      answer: end.answer,
      failed: end.outcome === 'failed' || end.outcome === 'stopped',
      activated: always || entries.some((entry) => skillsOf(entry).includes(name)),
      calls: entries.flatMap((entry) => madeIn(entry, entries)),
      requests: callsOf(entries, head.turn).length,
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

function madeIn(entry: TapeEntry, entries: readonly TapeEntry[]): readonly TrialCall[] {
  if (entry.kind !== 'message' || entry.role !== 'assistant') return [];
  return entry.content.flatMap((part) => {
    if (part.type !== 'tool-call') return [];
    const result = entries.find((one): one is ToolEntry => isResult(one) && one.callId === part.callId);
    const outcome = { output: result?.output ?? '', isError: result?.isError ?? true, instead: null };
    const given = parsed(part.arguments);
    const call = { tool: ownName(part.name), arguments: given, ...outcome };
    return [call, ...(call.tool === BATCH ? partsOf(given).map((inner) => ({ ...inner, ...outcome })) : [])];
  });
}

type ToolEntry = Extract<MessageEntry, { role: 'tool' }>;

function isResult(entry: TapeEntry): entry is ToolEntry {
  return entry.kind === 'message' && entry.role === 'tool';
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
