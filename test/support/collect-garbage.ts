import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: unknown = runInNewContext('gc');

/** Collects what no one references. What a `WeakRef` gave out in this round of the event loop is still referenced. */
export function collectGarbage(): void {
  if (typeof collect === 'function') collect();
}
