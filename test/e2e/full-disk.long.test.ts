import { fullDiskSuite } from '../support/full-disk-suite.ts';

await fullDiskSuite({ downMs: 60_000, people: 20, atStart: ['full', 'read-only'] });
