import { globSync } from 'node:fs';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that put something in the place of modules or of the environment, each in a process of its own. */
const ALONE = [
  'test/benign/**/*.test.ts',
  'test/browser/**/*.test.ts',
  'test/gullible/**/*.test.ts',
  'test/security/fetch.test.ts',
  'test/security/paths-guards.test.ts',
  'test/tools/web-guards.test.ts',
];

/** Tests that measure what something costs: after all others, with nothing beside them. */
const MEASURED = ['test/security/sandbox-limits.test.ts', 'test/tools/{read-documents,web-hostile}.test.ts'];

/** Tests of the page's modules, which are TSX: Node cannot read these by itself. */
const PAGE = ['test/page/**/*.test.ts'];

/**
 * Tests that start whole programs or a browser, kill and restart, wait for real time, fill disks or go through a corpus:
 * three quarters of the time of all tests.
 */
const SLOW = [
  'test/acp/**/*.test.ts',
  'test/api/{brought-conversation,clients,hooks}.test.ts',
  'test/agent/consolidation/crash.test.ts',
  'test/agent/undo-property.test.ts',
  'test/app/{damaged-journal,refused-writes}.test.ts',
  'test/app/skill-lab/{test,try}.test.ts',
  'test/automation/{clock-property,simulation}.test.ts',
  'test/benign/**/*.test.ts',
  'test/browser/**/*.test.ts',
  'test/channels/{markup-hostile,markup-random}.test.ts',
  'test/cli/{backup,plugins,plugins-registry,uninstall,tools-run,upgrade}.test.ts',
  'test/contract/{discord,feishu,matrix,slack,telegram,terminal,tin-can}.test.ts',
  'test/crash/**/*.test.ts',
  'test/docs/{backup,init-transcript,readme-transcript,transcripts,writing-a-channel}.test.ts',
  'test/doctor/{database,faults,healthy,machine}.test.ts',
  'test/e2e/agents/{backfill,killed,routing}.test.ts',
  'test/e2e/{aged-home,albums,background,cron,delivery,demo,discord-gateway,drafts,feishu,forget,full-disk,groups-roles,images,killed,left-commands}.test.ts',
  'test/e2e/{lenient-servers,long-answers,long-turn,matrix,meaning,memory-background,memory-facts,memory-superseded,output-guard,pending-question,platform-faults,plugin-admit}.test.ts',
  'test/e2e/{plugin-reload,plugins,poison,reactions,receipts,recovery,refused-content,restored,retention,safe-mode,safe-mode-reminders,scope}.test.ts',
  'test/e2e/{set-aside,spoken-answers,spoken-answers-killed,streaming,tape-store,three-platforms}.test.ts',
  'test/e2e/why/processes.test.ts',
  'test/examples/**/*.test.ts',
  'test/gateway/http/attacks.test.ts',
  'test/gullible/**/*.test.ts',
  'test/homes/**/*.test.ts',
  'test/journal/frozen-home.test.ts',
  'test/landing/**/*.test.ts',
  'test/mcp/{broken-servers,local-servers,real-servers,trust-store}.test.ts',
  'test/memory/{fact-records,gold-set,meaning,search}.test.ts',
  'test/page/**/*.test.ts',
  'test/providers/contract-faults.test.ts',
  'test/security/{paths-race,redact-sinks,sandbox,sandbox-probe}.test.ts',
  'test/service/**/*.test.ts',
  'test/setup/**/*.test.ts',
  'test/skills/any-text.test.ts',
  'test/start/**/*.test.ts',
  'test/storage/{checkpoints,damage-noticed}.test.ts',
  'test/landing/{git-judge,commands}.test.ts',
  'test/tools/{exec,exec-limits,exec-streams,file-taint,process}.test.ts',
  'test/tools/files/search-many.test.ts',
  'test/tools/documents/{bombs,document-process}.test.ts',
  'test/traces/turns.test.ts',
  'test/voice/**/*.test.ts',
];

/** Those of vitest.long.config.ts. */
const LONG = ['test/**/*.long.test.ts', 'test/**/*.llama.test.ts'];

/** What takes long begins first, so that the end waits for nobody. */
const FIRST = [
  'browser/',
  'page/panels',
  'cli/plugins-registry',
  'examples/',
  'e2e/images',
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
      const at = FIRST.findIndex((part) => moduleId.includes(`/test/${part}`));
      return at === -1 ? FIRST.length : at;
    };
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => rank(a) - rank(b));
  }
}

interface Project {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
}

const alone = (name: string, { include, exclude }: Project): object => ({
  extends: true,
  // Those that play many conversations at once would make each of them wait too long.
  test: { name, include, exclude: [...LONG, ...exclude], isolate: true, maxConcurrency: 6 },
});

const measured = (name: string, { include, exclude }: Project): object => ({
  extends: true,
  test: { name, include, exclude: [...LONG, ...exclude], isolate: true, maxWorkers: 1, sequence: { groupOrder: 1 } },
});

const page = (name: string, { include, exclude }: Project): object => ({
  extends: true,
  test: { name, include, exclude: [...LONG, ...exclude], isolate: false, expect: { poll: { timeout: 60_000 } } },
});

const together = (name: string, { include, exclude }: Project): object => ({
  extends: true,
  test: {
    name,
    include,
    exclude: [...LONG, ...ALONE, ...PAGE, ...MEASURED, ...exclude],
    isolate: false,
    // Node reads the modules itself, as it does in production; the suite takes a sixth less.
    experimental: { viteModuleRunner: false },
  },
});

const filesOf = (globs: readonly string[]): Set<string> => new Set(globSync([...globs]));

const slowOnes = (globs: readonly string[]): readonly string[] => [...filesOf(SLOW).intersection(filesOf(globs))];

export default defineConfig({
  test: {
    setupFiles: ['test/support/no-waiting-for-disks.ts', 'test/support/built-threads.ts'],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    pool: 'forks',
    maxWorkers: 4,
    maxConcurrency: 16,
    sequence: { sequencer: LongestFirst },
    // `npm test` runs those named fast, `npm run test:slow` the others.
    projects: [
      together('fast', { include: ['test/**/*.test.ts'], exclude: SLOW }),
      alone('fast-alone', { include: ALONE, exclude: SLOW }),
      together('slow', { include: SLOW, exclude: [] }),
      alone('slow-alone', { include: slowOnes(ALONE), exclude: [] }),
      page('slow-page', { include: slowOnes(PAGE), exclude: [] }),
      measured('slow-measured', { include: MEASURED, exclude: [] }),
    ],
  },
});
