import { defineExtension } from '../../core/api.ts';
import { cronRows } from './cli.ts';
import { cronOperation } from './operation.ts';
import { cron } from './settings.ts';
import { tables } from './tables.ts';

/** Reminders and tasks that run once or repeatedly. docs/schedule.md */
export default defineExtension({
  name: 'cron',
  settings: [cron],
  bundledSkills: ['cron'],
  tables,
  origins: [
    {
      name: 'cron',
      mayCommand: true,
      isByPeople: true,
      hasJobs: true,
      failed: (sentence, { job, once, asked }) => {
        const again = once === true || asked === true ? ' Reply to this with /retry to run it again.' : '';
        return `The job \`${String(job)}\` failed. ${sentence}${again}`;
      },
    },
  ],
  paths: {
    folders: ['cron'],
    closed: { 'cron/jobs.json': 'cron/jobs.json is only changed with the cron tool.' },
  },
  operations: [cronOperation],
  cli: [cronRows],
  checks: async () => (await import('./checks.ts')).checks,
  open: async (app) => (await import('./open.ts')).openCron(app),
});
