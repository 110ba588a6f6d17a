import type { LiveReplay, TurnSide } from './live.ts';
import { countText, dollars } from '../../core/api-cli.ts';
import { cut, oneLine } from '../../core/api.ts';

/** Columns of one side. */
const WIDTH = 44;
const LABEL = 12;
/** Characters of an answer that are shown of each side. */
const LONGEST_ANSWER = 2_000;

/** The recorded turn and the one of now, side by side. */
export function liveLines({ recorded, now }: LiveReplay): readonly string[] {
  const row = (label: string, of: (side: TurnSide) => readonly string[]): readonly string[] =>
    beside(label, of(recorded), of(now));
  return [
    ...beside('', ['recorded'], ['now']),
    ...row('model', ({ model }) => [model ?? '–']),
    ...row('outcome', ({ outcome }) => [outcome]),
    ...row('model calls', ({ modelCalls }) => [String(modelCalls)]),
    ...row('tool calls', ({ calls }) => (calls.length === 0 ? ['none'] : calls.map(callLine))),
    ...row('tokens', ({ usage }) => [`${countText(usage.input)} in, ${countText(usage.output)} out`]),
    ...row('cost', ({ costUsd }) => [costUsd === null ? 'price unknown' : dollars(costUsd)]),
    ...row('length', ({ answer }) => [`${countText(answer.length)} characters`]),
    ...row('answer', ({ answer }) => wrapped(cut(answer, LONGEST_ANSWER))),
  ];
}

/** One sentence about how the turn of now differs from the recorded one. */
export function liveVerdict({ recorded, now, held }: LiveReplay): string {
  const drift = now.calls.filter(({ onBoth }) => !onBoth).length;
  const left = recorded.calls.filter(({ onBoth }) => !onBoth).length;
  const calls = drift + left === 0 ? 'the same tool calls' : `tool calls: ${drift} not recorded, ${left} not made`;
  const ended = now.outcome === recorded.outcome ? '' : `it ended as ${now.outcome}, not ${recorded.outcome}; `;
  const length = `answer of ${countText(now.answer.length)} characters (${countText(recorded.answer.length)})`;
  return `${ended}${calls}, ${length}${held ? '' : '; not as recorded'}.`;
}

function callLine({ name, arguments: given, onBoth }: TurnSide['calls'][number]): string {
  return oneLine(`${onBoth ? '=' : '≠'} ${name} ${given}`, WIDTH);
}

function beside(label: string, left: readonly string[], right: readonly string[]): readonly string[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, at) =>
    `${(at === 0 ? label : '').padEnd(LABEL)} ${(left[at] ?? '').padEnd(WIDTH)}  ${right[at] ?? ''}`.trimEnd(),
  );
}

/** The text in lines of at most `WIDTH` characters. */
function wrapped(text: string): readonly string[] {
  const lines: string[] = [];
  for (const line of text.split('\n')) {
    let rest = line;
    while (rest.length > WIDTH) {
      const space = rest.lastIndexOf(' ', WIDTH);
      const at = space > 0 ? space : WIDTH;
      lines.push(rest.slice(0, at));
      rest = rest.slice(at).trimStart();
    }
    lines.push(rest);
  }
  return lines;
}
