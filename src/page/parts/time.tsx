import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { after, now } from '../clock.ts';
import { relativeTime, wholeTime } from '../text/time.ts';

/** The present time, renewed twice a minute. */
export const minute = signal(now());

const TICK_MS = 30_000;

function tick(): void {
  minute.value = now();
  after(TICK_MS, tick);
}
after(TICK_MS, tick);

/** When something was or will be, in words that stay true while the page is open. */
export function Time({ at }: { readonly at: number }): VNode {
  return (
    <time dateTime={new Date(at).toISOString()} title={wholeTime(at)}>
      {relativeTime(at, minute.value)}
    </time>
  );
}
