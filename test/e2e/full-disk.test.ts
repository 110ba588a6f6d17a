import { fullDiskSuite } from '../support/full-disk-suite.ts';

await fullDiskSuite({ downMs: 5_000, people: 4, atStart: ['full'] });
