import { resolve } from 'node:path';
import type { Replay, ReplayedRequest } from '../../app/traces/replay.ts';
import { readTrace, tracesIn, writeTrace } from '../../app/traces/on-disk.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { errorMessage } from '../../util/errors.ts';
import { countText, plural } from '../../util/text.ts';
import type { CliContext } from '../context.ts';
import { terminalText } from '../format.ts';
import { openAssistant } from '../open.ts';
import { print } from '../print.ts';
import type { OutputFlags } from '../table/command.ts';

/** `assistant trace save TURN`: a turn in a file of its own. */
export async function traceSaveCommand(
  { turn, out, home, json }: OutputFlags & { readonly turn: string; readonly out: string | undefined },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const { text, missing } = await assistant.port.request('turnsSave', { turn });
  const file = resolve(out ?? `trace-${turn}.jsonl`);
  await writeTrace(file, text);
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

/** `assistant trace replay FILE`: the requests of a saved turn, built again and compared. */
export async function traceReplayCommand(
  { file, json }: OutputFlags & { readonly file: string },
  context: CliContext,
): Promise<number> {
  const replay = await replayOf(file, context);
  print(context, json, { facts: replay, lines: [...linesOf(replay), verdictOf(replay)], escape: terminalText });
  return isSame(replay) ? 0 : 1;
}

/** `assistant trace test FOLDER`: each trace of a folder, with a line for each. */
export async function traceTestCommand(
  { folder, json }: OutputFlags & { readonly folder: string },
  context: CliContext,
): Promise<number> {
  const files = await tracesIn(resolve(folder));
  const width = Math.max(0, ...[...files.keys()].map((name) => name.length));
  const facts: object[] = [];
  const lines: string[] = [];
  let failed = 0;
  for (const [name, path] of files) {
    const result = await replayOf(path, context).catch((error: unknown) => errorMessage(error));
    const isGood = typeof result === 'object' && isSame(result);
    if (!isGood) failed += 1;
    const said = typeof result === 'string' ? result : verdictOf(result);
    lines.push(`${isGood ? '✓' : '✗'} ${name.padEnd(width)}  ${said}`);
    if (typeof result === 'object' && !isGood) lines.push(...linesOf(result).map((line) => `    ${line}`));
    facts.push(typeof result === 'string' ? { file: name, failed: result } : { file: name, ...result });
  }
  const nothing = `${folder} holds no trace (*.jsonl). To save one: ${assistantCommand('trace save TURN')}`;
  const sum = `${plural(files.size, 'trace')}, ${failed === 0 ? 'all as recorded' : `${failed} not as recorded`}.`;
  print(context, json, { facts, lines: files.size === 0 ? [] : [...lines, sum], nothing, escape: terminalText });
  return failed === 0 && files.size > 0 ? 0 : 1;
}

async function replayOf(file: string, { clock }: CliContext): Promise<Replay> {
  const text = await readTrace(resolve(file));
  const { replayTrace } = await import('../../app/traces/replay.ts');
  return replayTrace(text, clock);
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
