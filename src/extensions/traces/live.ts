import type { LoadedConfig } from '../../core/api-cli.ts';
import type { ModelEvent, Provider, Usage } from '../../core/api-providers.ts';
import {
  createModels,
  fullName,
  ownName,
  Pricing,
  readTrace,
  renderResult,
  runGivenTurn,
  silentLog,
  type ChosenModel,
  type EntryDraft,
} from '../../core/api-replay.ts';
import { turnOf, type TapeEntry, type TapeTurn, type ToolEntry } from '../../core/api-tapes.ts';
import { errorResult } from '../../core/api-tools.ts';
import { deadline, systemRandom, type Clock } from '../../core/api.ts';
import { planOf, recordedMessage, recordedTurn, type RecordedTurn } from './recorded-turn.ts';

/** A tool call of one side. */
export interface ComparedCall {
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
  /** The other side has a call of the same tool with the same arguments. */
  readonly onBoth: boolean;
}

/** What a turn came to. */
export interface TurnSide {
  /** `provider/model`; null: no model answered. */
  readonly model: string | null;
  readonly outcome: string;
  readonly modelCalls: number;
  readonly calls: readonly ComparedCall[];
  readonly usage: Usage;
  /** US dollars; null: the price is unknown. */
  readonly costUsd: number | null;
  readonly answer: string;
}

/** A recorded turn beside the same turn with a model of today. */
export interface LiveReplay {
  readonly turn: string;
  readonly recorded: TurnSide;
  readonly now: TurnSide;
  /** The turn ended as it did, and each of its calls was recorded. */
  readonly held: boolean;
}

export interface LiveOptions {
  readonly loaded: LoadedConfig;
  /** `provider/model`. @default the configured one */
  readonly model: string | undefined;
  readonly clock: Clock;
  /** Ends it early. */
  readonly signal: AbortSignal;
}

const LONGEST_MS = 10 * 60_000;
/** Model calls beyond those of the recorded turn. */
const MORE_CALLS = 5;

/**
 * Runs a saved turn with a real model and the recorded results of tools: a call gets the result of the recorded call with
 * the same arguments, and any other an error that says so; no tool is executed. Throws an error of one sentence for a file
 * that is no trace, or for a model that cannot be called.
 */
export async function replayLive(file: string, { loaded, model, clock, signal }: LiveOptions): Promise<LiveReplay> {
  const trace = await readTrace(file);
  const turn = recordedTurn(trace);
  const { config } = loaded;
  const alone = { ...config, agent: { ...config.agent, fallbacks: [] } };
  const models = createModels({ config: alone, loaded, clock, random: systemRandom, log: silentLog });
  const chosen = models.resolve(model === undefined ? null : models.fullName(model));
  let calls = 0;
  const provider: Provider = {
    ...chosen.provider,
    name: chosen.provider.name,
    async *chat(request, options): AsyncGenerator<ModelEvent> {
      calls += 1;
      yield* chosen.provider.chat(request, options);
    },
  };
  using limit = deadline(clock, LONGEST_MS, 'the turn with the model');
  const { reasoning, temperature, maxOutputTokens, maxIterations } = config.agent;
  const plan = planOf(trace, turn, () => turn.steps[calls]);
  const entries = await runGivenTurn({
    ...plan,
    chosen: { ...chosen, provider },
    reasoning,
    temperature,
    maxIterations: Math.min(maxIterations, turn.steps.length + MORE_CALLS),
    maxOutputTokens: () => maxOutputTokens,
    // A trim names entries of the recorded turn, which this one does not have.
    meanwhile: () => [],
    signal: AbortSignal.any([signal, limit.signal]),
    inPlaceOf: answering(turn),
  });
  const recorded = turnOf(turn.entries);
  const made = turnOf(entries);
  const now = { ...sideOf(made, recorded), modelCalls: calls };
  const before = { ...sideOf(recorded, made), modelCalls: turn.steps.length };
  return {
    turn: trace.head.turn,
    recorded: before,
    now: { ...now, model: now.model ?? fullName(chosen), costUsd: await costOf(now.usage, chosen, loaded) },
    held: now.outcome === before.outcome && now.calls.every(({ onBoth }) => onBoth),
  };
}

/** The recorded message of a person, and for a call the result of the recorded call that asks the same. */
function answering(turn: RecordedTurn): (draft: EntryDraft, entries: readonly TapeEntry[]) => EntryDraft {
  const known = new Map<string, ToolEntry[]>();
  const keys = new Map(turnOf(turn.entries).toolCalls.map(({ asked }) => [asked.callId, keyOf(asked)]));
  for (const result of turn.results) {
    const key = keys.get(result.callId) ?? '';
    known.set(key, [...(known.get(key) ?? []), result]);
  }
  return (draft, entries) => {
    if (draft.kind !== 'message' || draft.role !== 'tool') return recordedMessage(draft, turn);
    const call = turnOf(entries).toolCalls.find(({ asked }) => asked.callId === draft.callId)?.asked;
    const results = known.get(call === undefined ? '' : keyOf(call)) ?? [];
    // The same call again gets the next result, and at last the last one again.
    const result = results.length > 1 ? results.shift() : results[0];
    if (result !== undefined) return { ...result, id: `${draft.callId}:recorded`, callId: draft.callId };
    const words = 'This call was not recorded, so it was not done and has no result here. Go on without it.';
    return { ...draft, output: renderResult(errorResult(draft.name, words)), isError: true };
  };
}

/** Equal for calls of one tool with the same arguments, in whatever order they are written. */
function keyOf({ name, arguments: given }: { readonly name: string; readonly arguments: string }): string {
  try {
    return `${ownName(name)} ${JSON.stringify(sorted(JSON.parse(given)))}`;
  } catch {
    return `${ownName(name)} ${given}`;
  }
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)]),
  );
}

function sideOf({ end, toolCalls }: TapeTurn, other: TapeTurn): Omit<TurnSide, 'modelCalls'> {
  const keys = new Set(other.toolCalls.map(({ asked }) => keyOf(asked)));
  return {
    model: end?.model ?? null,
    outcome: end?.outcome ?? 'not ended',
    calls: toolCalls.map(({ asked }) => ({
      name: asked.name,
      arguments: asked.arguments,
      onBoth: keys.has(keyOf(asked)),
    })),
    usage: end?.usage ?? { input: 0, cached: 0, cacheWrite: 0, output: 0, reasoning: 0 },
    costUsd: end?.costUsd ?? null,
    answer: end?.answer ?? '',
  };
}

async function costOf(
  usage: Usage,
  { providerName, model }: ChosenModel,
  { config: { models, providers }, program }: LoadedConfig,
): Promise<number | null> {
  const pricing = new Pricing({ models, providers, presets: program.presets, log: silentLog });
  const name = { provider: providerName, model };
  await pricing.prepare(name);
  return pricing.costOf(name, usage);
}
