import { useEffect, useState } from 'preact/hooks';
import { connection } from '../net/feed.ts';
import { sentenceOf } from '../net/http.ts';

export interface Loaded<Value> {
  /** Undefined until it is there. */
  readonly value: Value | undefined;
  /** Why it could not be loaded. */
  readonly problem: string | undefined;
  readonly again: () => void;
}

/** Loads something, and again when what it depends on is different or the connection is back. */
export function useLoaded<Value>(load: () => Promise<Value>, on: readonly unknown[]): Loaded<Value> {
  const [state, show] = useState<{ value?: Value; problem?: string }>({});
  const [count, countUp] = useState(0);
  const isOnline = connection.value === 'online';
  useEffect(() => {
    let isCurrent = true;
    load().then(
      (value) => {
        if (isCurrent) show({ value });
      },
      (error: unknown) => {
        if (isCurrent) show((before) => ({ ...before, problem: sentenceOf(error) }));
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [...on, count, isOnline]);
  return { value: state.value, problem: state.problem, again: () => countUp(count + 1) };
}
