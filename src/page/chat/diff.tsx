import type { VNode } from 'preact';
import { shown } from '../text/shown.ts';

const MOST_LINES = 400;

/** Lines that begin with a plus or a minus. */
export function Diff({ lines }: { readonly lines: readonly string[] }): VNode {
  return (
    <pre class="diff" tabIndex={0} role="region" aria-label="Changes">
      {lines.slice(0, MOST_LINES).map((line, at) => (
        <span key={at} class={kindOf(line)}>
          {`${shown(line)}\n`}
        </span>
      ))}
      {lines.length > MOST_LINES ? <span>{`… ${lines.length - MOST_LINES} more lines`}</span> : null}
    </pre>
  );
}

function kindOf(line: string): string {
  if (/^[-−]/u.test(line)) return 'minus';
  return line.startsWith('+') ? 'plus' : '';
}
