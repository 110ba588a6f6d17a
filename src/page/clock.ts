/** Milliseconds since 1970. */
export function now(): number {
  return Date.now();
}

/** Calls back once after some milliseconds, unless what it returns is called before. */
export function after(ms: number, call: () => void): () => void {
  const timer = setTimeout(call, ms);
  return () => clearTimeout(timer);
}

/** Resolves after some milliseconds. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => after(ms, resolve));
}

/** Between 0 and 1. */
export function chance(): number {
  return Math.random();
}
