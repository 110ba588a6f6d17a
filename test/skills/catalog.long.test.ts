import { limitTests } from './catalog-limits.ts';

limitTests({ folders: 10_000, skills: 2_000 }, { set: false });
