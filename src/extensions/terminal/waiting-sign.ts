import type { CliContext } from '../../core/api-cli.ts';
import { type OutboundEvent, isDumb, lookOf } from '../../core/api-terminal.ts';
import { Activity } from './activity.ts';
import { Frame } from './frame.ts';

const DRAW_MS = 100;

export interface WaitingSign extends Disposable {
  event(event: OutboundEvent): void;
}

/** Shows on stderr what a turn does and for how long, until disposed of; nothing where that is no terminal to draw on. */
export function waitingSign(
  { stderr, env, clock }: Pick<CliContext, 'stderr' | 'env' | 'clock'>,
  { plain }: { readonly plain: boolean },
): WaitingSign {
  if (stderr.isTTY !== true || plain || isDumb(env)) return { event: () => {}, [Symbol.dispose]: () => {} };
  const frame = new Frame(stderr);
  const activity = new Activity(clock);
  let timer: Disposable | undefined;
  const draw = (): void => {
    const rows = activity.rows(lookOf(env, { columns: frame.columns, plain }));
    frame.draw([], rows, { row: Math.max(0, rows.length - 1), column: 0 });
    timer = clock.timer(DRAW_MS, draw);
  };
  activity.begin();
  draw();
  return {
    event: (event) => {
      if (event.type === 'tool-start') activity.start(event.callId, event.title);
      else if (event.type === 'tool-end') activity.finish(event.callId);
    },
    [Symbol.dispose]: () => {
      timer?.[Symbol.dispose]();
      frame.clear();
    },
  };
}
