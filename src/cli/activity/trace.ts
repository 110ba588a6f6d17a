import type { TraceStep, TraceTokens, TurnTrace } from '../../core/gateway/operations/traces.ts';
import { countText, dollars, oneLine, sizeText } from '../../core/util/text.ts';
import { localMinute } from '../../core/util/time-zone.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';
import { seconds } from '../../core/cli/format.ts';

/** Characters of a text, of arguments and of results that are shown of each. */
const LONGEST = 200;

/** `assistant trace [list]`: the newest turns, oldest first. */
export async function traceListCommand(
  { home, json, last }: OutputFlags & { readonly last: number },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const facts = (await assistant.port.call('turnsList', { count: last })).toReversed();
  const zone = await zoneOf(context, home);
  const lines = facts.map(
    ({ turn, session, startedAt, outcome }) =>
      `${localMinute(startedAt, zone)}  ${turn}  ${(outcome ?? 'running').padEnd(9)}  ${session}`,
  );
  print(context, json, { facts, lines, nothing: 'There was no turn yet.' });
  return 0;
}

/** `assistant trace show [TURN]`: what happened in a turn, step by step. */
export async function traceShowCommand(
  { turn, home, json }: OutputFlags & { readonly turn: string | undefined },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const trace = await assistant.port.call('turnsTrace', turn === undefined ? {} : { turn });
  print(context, json, {
    facts: trace,
    lines: [...headOf(trace, await zoneOf(context, home)), ...didOf(trace), '', ...trace.steps.flatMap(linesOf)],
  });
  return 0;
}

function headOf(trace: TurnTrace, zone: string | null): readonly string[] {
  const { turn, session, startedAt, endedAt, outcome, model, tokens, costUsd, origin, role } = trace;
  const time = endedAt === null ? '' : ` after ${seconds(endedAt - startedAt)}`;
  const cost = costUsd === null ? 'price unknown' : dollars(costUsd);
  return [
    `Turn ${turn} in ${session}`,
    `Began ${localMinute(startedAt, zone)} (${origin}, ${role}), ${outcome ?? 'running'}${time}.`,
    ...(tokens === null ? [] : [`${model ?? 'No model'}: ${tokensText(tokens)}, ${cost}.`]),
  ];
}

/** What it did, one line for each. */
function didOf({ did, changes, unfinished }: TurnTrace): readonly string[] {
  if (did.length === 0) return [];
  return [
    '',
    'What it did:',
    ...did.map(({ kind, tool, target, outcome, exitCode, approved }) => {
      const what = target === null ? tool : `${kind} ${oneLine(target, LONGEST)}`;
      const how = [
        outcome === 'unknown' ? 'cut off, so it may or may not be done' : outcome,
        ...(exitCode === null ? [] : [`exit code ${exitCode}`]),
        ...(approved ? ['approved'] : []),
      ];
      return `${outcome === 'done' ? '✓' : '✗'} ${what}: ${how.join(', ')}`;
    }),
    ...(unfinished === null ? [] : [`Below the answer: ${unfinished}`]),
    ...changes.flatMap(({ kind, name, lines }) => [
      '',
      `Changes of the ${kind} ${name}:`,
      ...(lines ?? 'not kept any more').split('\n').map((line) => `    ${line}`),
    ]),
  ];
}

function linesOf(step: TraceStep): readonly string[] {
  const time = step.tookMs === 0 ? '' : ` · ${seconds(step.tookMs)}`;
  switch (step.kind) {
    case 'message':
      return [`message: ${oneLine(step.text, LONGEST)}`];
    case 'model': {
      const { attempts, tokens, text, calls } = step;
      const answered = attempts.findLast(({ failed }) => failed === null);
      return [
        ...attempts
          .filter(({ failed }) => failed !== null)
          .map(({ model, failed }) => `✗ ${model}: ${oneLine(failed ?? '', LONGEST)}`),
        ...(answered === undefined
          ? []
          : [
              `model: ${answered.model}${sizeOf(answered.bytes)}${tokens === null ? '' : `, ${tokensText(tokens)}`}${time}`,
            ]),
        ...(text === '' ? [] : [`    ${oneLine(text, LONGEST)}`]),
        ...calls.map(({ name, arguments: given }) => `    calls ${name} ${oneLine(given, LONGEST)}`),
      ];
    }
    case 'tool': {
      const { name, isError, approved, characters, output } = step;
      const how = `${approved ? ', approved' : ''}, ${countText(characters)} characters${time}`;
      return [`${isError ? '✗' : '✓'} ${name}${how}`, `    ${oneLine(output, LONGEST)}`];
    }
  }
}

function tokensText({ input, cached, output }: TraceTokens): string {
  const share = cached === 0 ? '' : ` (${countText(cached)} cached)`;
  return `${countText(input)} tokens in${share}, ${countText(output)} out`;
}

function sizeOf(bytes: number): string {
  return bytes === 0 ? '' : `, request of ${sizeText(bytes)}`;
}
