import type { VNode } from 'preact';
import { shown } from '../text/shown.ts';

export interface Bar {
  /** Such as `2026-11-25`. */
  readonly day: string;
  readonly parts: readonly { readonly name: string; readonly value: number }[];
}

const shortDay = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short', timeZone: 'UTC' });

const HEIGHT = 180;
const LEFT = 56;
const RIGHT = 14;
const BOTTOM = 22;

/** How many colours there are; what is beyond shares the last. */
export const COLOURS = 6;

/** Stacked bars, one for each day. `say`: how a value is written. */
export function Plot({
  bars,
  names,
  label,
  say,
}: {
  readonly bars: readonly Bar[];
  /** In the order of their colours. */
  readonly names: readonly string[];
  readonly label: string;
  readonly say: (value: number) => string;
}): VNode {
  // Its words keep their size on a phone.
  const width = innerWidth < 560 ? 400 : 720;
  const top = niceTop(Math.max(0, ...bars.map(sumOf)));
  const step = (width - LEFT - RIGHT) / Math.max(1, bars.length);
  const y = (value: number): number => HEIGHT - BOTTOM - (value / top) * (HEIGHT - BOTTOM - 8);
  const every = Math.ceil(bars.length / (width / 90));
  return (
    <svg class="plot" viewBox={`0 0 ${width} ${HEIGHT}`} role="img" aria-label={label}>
      {[0, top / 2, top].map((value) => (
        <g key={value}>
          <line class="grid" x1={LEFT} x2={width} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 8} y={y(value) + 4} text-anchor="end">
            {say(value)}
          </text>
        </g>
      ))}
      {bars.map((bar, at) => (
        <g key={bar.day}>
          <title>{titleOf(bar, say)}</title>
          <rect class="hit" x={LEFT + at * step} y={0} width={step} height={HEIGHT - BOTTOM} />
          {stacked(bar, names).map(({ name, from, to }) => (
            <rect
              key={name}
              class={`part part-${Math.min(names.indexOf(name), COLOURS - 1)}`}
              x={LEFT + at * step + step * 0.15}
              width={Math.max(1, step * 0.7)}
              y={y(to)}
              height={Math.max(0, y(from) - y(to))}
            />
          ))}
          {(bars.length - 1 - at) % every === 0 ? (
            <text x={LEFT + at * step + step / 2} y={HEIGHT - 5} text-anchor="middle">
              {shortDay.format(Date.parse(bar.day))}
            </text>
          ) : null}
        </g>
      ))}
    </svg>
  );
}

function sumOf({ parts }: Bar): number {
  return parts.reduce((sum, { value }) => sum + value, 0);
}

function stacked({ parts }: Bar, names: readonly string[]): readonly { name: string; from: number; to: number }[] {
  let from = 0;
  return names.flatMap((name) => {
    const value = parts.find((part) => part.name === name)?.value ?? 0;
    if (value === 0) return [];
    const part = { name, from, to: from + value };
    from += value;
    return [part];
  });
}

function titleOf(bar: Bar, say: (value: number) => string): string {
  const parts = bar.parts.filter(({ value }) => value > 0).map(({ name, value }) => `${shown(name)}: ${say(value)}`);
  return [`${bar.day}: ${say(sumOf(bar))}`, ...parts].join('\n');
}

/** The next of 1, 2, 5, 10, … that is not below. */
function niceTop(value: number): number {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((factor) => factor * power >= value) ?? 10) * power;
}
