import { Session, type Profiler } from 'node:inspector';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SRC = fileURLToPath(new URL('../../src', import.meta.url));

/** Says which files of `src` this thread executes, by the coverage of V8. */
export interface Executed extends Disposable {
  /** Those below `src` with a function that was called since the last look; that a file was loaded does not count. */
  look(): readonly string[];
}

export function watchExecuted(): Executed {
  const session = new Session();
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return {
    look: () => {
      let called: readonly string[] = [];
      // A session of the same thread answers before `post` returns.
      session.post('Profiler.takePreciseCoverage', (error, { result }: Profiler.TakePreciseCoverageReturnType) => {
        if (error !== null) throw error;
        called = result.filter(hasCalled).map(({ url }) => url);
      });
      return called
        .filter((url) => url.startsWith('file:'))
        .map((url) => relative(SRC, fileURLToPath(url)))
        .filter((file) => !file.startsWith('..'))
        .toSorted();
    },
    [Symbol.dispose]: () => session.disconnect(),
  };
}

/** Whether a function of the script was called, other than the script itself. */
function hasCalled({ functions }: Pick<Profiler.ScriptCoverage, 'functions'>): boolean {
  return functions.some(({ ranges: [whole] }) => whole !== undefined && whole.startOffset > 0 && whole.count > 0);
}
