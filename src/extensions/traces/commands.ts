import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import {
  countText,
  loadConfig,
  openAssistant,
  pathsOf,
  print,
  terminalText,
  type CliContext,
  type HomeFlag,
  type OutputFlags,
} from '../../core/api-cli.ts';
import { ifThere, replaceDurable } from '../../core/api-files.ts';
import { AppError, assistantCommand, errorMessage, plural } from '../../core/api.ts';
import { liveLines, liveVerdict } from './live-text.ts';
import type { LiveReplay } from './live.ts';
import type { Replay, ReplayedRequest } from './replay.ts';

/** `assistant trace save TURN`: a turn in a file of its own. */
export async function traceSaveCommand(
  { turn, out, home, json }: OutputFlags & { readonly turn: string; readonly out: string | undefined },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const { text, missing } = await assistant.port.call('turnsSave', { turn });
  const file = resolve(out ?? `trace-${turn}.jsonl`);
  await replaceDurable(file, text).catch((error: unknown) => {
    throw new AppError('trace-not-written', `The trace cannot be written to ${file}: ${errorMessage(error)}`);
  });
  print(context, json, {
    facts: { turn, file, missing },
    lines: [
      `The turn ${turn} is saved in ${file}.`,
      ...missing.map((sentence) => `Missing: ${sentence}`),
      `To replay it: ${assistantCommand(`trace replay ${file}`)}`,
    ],
    escape: terminalText,
  });
  return 0;
}

interface LiveFlags {
  /** `provider/model`; with it a real model is asked. */
  readonly model: string | undefined;
}

/** `assistant trace replay FILE`: a saved turn, run again and compared, or run with a real model. */
export async function traceReplayCommand(
  {
    file,
    modelLive,
    model,
    json,
    home,
  }: OutputFlags & LiveFlags & { readonly file: string; readonly modelLive: boolean },
  context: CliContext,
): Promise<number> {
  if (modelLive || model !== undefined) {
    await using live = await openLive({ model, home }, context);
    const replay = await live.replay(file);
    const lines = [...liveLines(replay), liveVerdict(replay)];
    print(context, json, { facts: replay, lines, escape: terminalText });
    return replay.held ? 0 : 1;
  }
  const replay = await replayOf(file, context);
  print(context, json, { facts: replay, lines: [...linesOf(replay), verdictOf(replay)], escape: terminalText });
  return isSame(replay) ? 0 : 1;
}

interface Judged {
  readonly good: boolean;
  readonly verdict: string;
  readonly lines: readonly string[];
  readonly facts: object;
}

/** `assistant trace test FOLDER`: each trace of a folder, with a line for each. */
export async function traceTestCommand(
  { folder, model, json, home }: OutputFlags & LiveFlags & { readonly folder: string },
  context: CliContext,
): Promise<number> {
  const files = await tracesIn(resolve(folder));
  const width = Math.max(0, ...[...files.keys()].map((name) => name.length));
  await using live = model === undefined ? null : await openLive({ model, home }, context);
  const judge = async (path: string): Promise<Judged> => {
    if (live !== null) {
      const replay = await live.replay(path);
      return { good: replay.held, verdict: liveVerdict(replay), lines: liveLines(replay), facts: replay };
    }
    const replay = await replayOf(path, context);
    return { good: isSame(replay), verdict: verdictOf(replay), lines: linesOf(replay), facts: replay };
  };
  const facts: object[] = [];
  const lines: string[] = [];
  let failed = 0;
  for (const [name, path] of files) {
    const judged = await judge(path).catch((error: unknown): Judged => {
      const verdict = errorMessage(error);
      return { good: false, verdict, lines: [], facts: { failed: verdict } };
    });
    if (!judged.good) failed += 1;
    lines.push(`${judged.good ? '✓' : '✗'} ${name.padEnd(width)}  ${judged.verdict}`);
    if (!judged.good) lines.push(...judged.lines.map((line) => `    ${line}`));
    facts.push({ file: name, good: judged.good, ...judged.facts });
  }
  const nothing = `${folder} holds no trace (*.jsonl). To save one: ${assistantCommand('trace save TURN')}`;
  const sum = `${plural(files.size, 'trace')}, ${failed === 0 ? 'all as recorded' : `${failed} not as recorded`}.`;
  print(context, json, { facts, lines: files.size === 0 ? [] : [...lines, sum], nothing, escape: terminalText });
  return failed === 0 && files.size > 0 ? 0 : 1;
}

/** The paths of the traces (`*.jsonl`) of a folder by their names, in order; none if there is no folder. */
async function tracesIn(folder: string): Promise<ReadonlyMap<string, string>> {
  const names = (await ifThere(readdir(folder))) ?? [];
  const traces = names.filter((name) => name.endsWith('.jsonl')).toSorted();
  return new Map(traces.map((name) => [name, join(folder, name)]));
}

async function replayOf(file: string, context: CliContext): Promise<Replay> {
  const { replayTrace } = await import('./replay.ts');
  return replayTrace(resolve(file), context);
}

/** Replays with the configured or the named model; Ctrl-C ends the turn that runs. */
async function openLive(
  { model, home }: LiveFlags & HomeFlag,
  context: CliContext,
): Promise<{ readonly replay: (file: string) => Promise<LiveReplay> } & AsyncDisposable> {
  const { program, env, clock } = context;
  const loaded = await loadConfig({ program, home: pathsOf(context, home).home, env });
  const { replayLive } = await import('./live.ts');
  const stop = new AbortController();
  const listening = context.onSignal(() => stop.abort(new AppError('stopped', 'Stopped.')));
  return {
    replay: (file) => replayLive(resolve(file), { loaded, model, clock, signal: stop.signal }),
    [Symbol.asyncDispose]: async () => listening[Symbol.dispose](),
  };
}

function isSame({ requests }: Replay): boolean {
  return requests.length > 0 && requests.every(({ result }) => result === 'same');
}

function linesOf({ requests, missing }: Replay): readonly string[] {
  return [...requests.flatMap(requestLines), ...missing.map((sentence) => `Missing: ${sentence}`)];
}

function requestLines(request: ReplayedRequest): readonly string[] {
  const which = `model call ${request.call}, attempt ${request.attempt}`;
  switch (request.result) {
    case 'same':
      return [`✓ ${which}: ${countText(request.bytes)} bytes, the same`];
    case 'not-built':
      return [`✗ ${which}: ${request.reason}`];
    case 'differs':
      return [
        `✗ ${which} differs from byte ${countText(request.byte)} on, in: ${request.layer}`,
        `    recorded: ${request.recorded}`,
        `    now:      ${request.now}`,
      ];
  }
}

function verdictOf(replay: Replay): string {
  const { requests } = replay;
  if (requests.length === 0) return 'The trace holds no request that can be replayed.';
  const differing = requests.filter(({ result }) => result !== 'same').length;
  const of = plural(requests.length, 'request');
  return differing === 0 ? `${of}, the same to the byte.` : `${of}, ${differing} not as recorded.`;
}
