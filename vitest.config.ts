import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that put something in the place of modules or of the environment, each in a process of its own. */
const ALONE = [
  'test/benign/**/*.test.ts',
  'test/gullible/**/*.test.ts',
  'test/security/fetch.test.ts',
  'test/security/paths-guards.test.ts',
  'test/tools/web-guards.test.ts',
  // It measures the processor time of its own thread, which the garbage of other tests would add to.
  'test/tools/web-hostile.test.ts',
];

/** Tests of the page's modules, which are TSX: Node cannot read these by itself. */
const PAGE = ['test/page/**/*.test.ts'];

/** What takes long begins first, so that the end waits for nobody. */
const LONG = [
  'crash/',
  'gullible/',
  'e2e/full-disk',
  'e2e/streaming',
  'automation/',
  'tools/process',
  'tools/exec',
  'start/',
  'setup/',
  'e2e/platform-faults',
  'tools/documents/bombs',
  'security/paths-race',
  'e2e/memory-facts',
  'channels/markup-hostile',
  'benign/',
  'contract/',
  'e2e/set-aside',
  'e2e/recovery',
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex((part) => moduleId.includes(`/test/${part}`));
      return at === -1 ? LONG.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

const exclude = ['test/**/*.long.test.ts', 'node_modules/**'];

export default defineConfig({
  test: {
    setupFiles: ['test/support/no-waiting-for-disks.ts', 'test/support/built-threads.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'alone', include: ALONE, exclude, isolate: true },
      },
      {
        extends: true,
        test: { name: 'page', include: PAGE, exclude, isolate: false, expect: { poll: { timeout: 20_000 } } },
      },
      {
        extends: true,
        test: {
          name: 'together',
          include: ['test/**/*.test.ts'],
          exclude: [...exclude, ...ALONE, ...PAGE],
          isolate: false,
          // Node reads the modules itself, as it does in production; the suite takes a sixth less.
          experimental: { viteModuleRunner: false },
        },
      },
    ],
    maxConcurrency: 16,
  },
});
