import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { failed, note, ok, warning, type Check, type Found, type Scene } from '../../core/api-doctor.ts';
import { hasChannel } from '../../core/api-tools.ts';
import { machineZone } from '../../core/api-time.ts';
import { hashOfJob, scheduleOf, type Job } from './job.ts';
import { parseJobs } from './jobs-file.ts';
import { nextRun } from './schedule.ts';
import { cron } from './settings.ts';

export const checks: readonly Check[] = [
  { id: 'cron.file', subject: 'schedule', about: 'cron/jobs.json can be read', run: file },
  {
    id: 'cron.jobs',
    subject: 'schedule',
    about: 'each job runs: it is agreed to, switched on, did not fail, and comes due',
    run: jobs,
  },
];

function jobsPath({ paths }: Scene): string {
  return join(paths.workspace, 'cron', 'jobs.json');
}

/** The jobs of the file; a string is what is wrong with it; undefined: there is no file. */
function readJobs(scene: Scene): ReturnType<typeof parseJobs> | undefined {
  const path = jobsPath(scene);
  if (!existsSync(path)) return undefined;
  const config = scene.loaded?.config;
  return parseJobs(readFileSync(path, 'utf8'), {
    zone: machineZone(),
    now: scene.clock.now(),
    hasChannel: (name) => config === undefined || hasChannel(config, name),
  });
}

function file(scene: Scene): readonly Found[] {
  const read = readJobs(scene);
  if (read === undefined) return [];
  if ('problem' in read) {
    return [
      failed(
        `${jobsPath(scene)} cannot be used, so the jobs that were read from it last go on: ${read.problem.replace(/\.$/u, '')}.`,
        `Correct ${jobsPath(scene)}`,
      ),
    ];
  }
  if (read.left !== null && read.left !== undefined) {
    return [warning(`Not all jobs of ${jobsPath(scene)} can be imported: ${read.left}.`, `Correct ${jobsPath(scene)}`)];
  }
  const count = read.jobs.length;
  return [ok(count === 1 ? 'One job is scheduled.' : `${count} jobs are scheduled.`)];
}

function jobs(scene: Scene): readonly Found[] {
  const read = readJobs(scene);
  const { loaded, command } = scene;
  if (read === undefined || 'problem' in read || read.jobs.length === 0) return [];
  if (loaded !== null && !cron.of(loaded.config).enabled) {
    return [
      warning('The schedule is switched off (cron.enabled), so no job runs.', command('config set cron.enabled true')),
    ];
  }
  const zone = loaded?.config.agent.timezone ?? read.zone ?? machineZone();
  const findings = read.jobs.flatMap((job) => jobFindings(scene, job, zone));
  return findings.length === 0 ? [ok('Each job comes due.')] : findings;
}

function jobFindings({ journal, clock, command }: Scene, job: Job, zone: string): readonly Found[] {
  const agreed = journal === null ? undefined : agreedJob(journal, job.id);
  const isAgreed = agreed !== undefined && agreed.hash === hashOfJob(job);
  // One that ran for the last time leaves the file at the next look.
  if (isAgreed && agreed.state === 'over') return [];
  const schedule = scheduleOf(job, zone);
  if (!('problem' in schedule) && nextRun(schedule, clock.now()) === null && !isAgreed) {
    return [warning(`The job ${job.id} never runs: its time is over.`, command(`cron remove ${job.id}`))];
  }
  if (!isAgreed || agreed.state !== 'active') {
    return [
      warning(
        `The job ${job.id} was found in the file and does not run before you agree to it.`,
        command(`cron enable ${job.id}`),
      ),
    ];
  }
  if (job.enabled && agreed.enabled) {
    return agreed.lastOutcome === 'failed'
      ? [warning(`The last run of the job ${job.id} failed.`, command(`cron show ${job.id}`))]
      : [];
  }
  if (agreed.lastOutcome === 'failed') {
    return [warning(`The job ${job.id} is switched off, and its last run failed.`, command(`cron enable ${job.id}`))];
  }
  return [note(`The job ${job.id} is switched off.`, command(`cron enable ${job.id}`))];
}

interface AgreedJob {
  readonly hash: string;
  /** `active`, `over` or `removed`. */
  readonly state: string;
  readonly enabled: boolean;
  /** Outcome of the newest run that ended; null: none did. */
  readonly lastOutcome: string | null;
}

/** A job that a person has agreed to, as the journal has it. */
function agreedJob(journal: NonNullable<Scene['journal']>, id: string): AgreedJob | undefined {
  const [row] = journal.rows('SELECT hash, state, enabled FROM cron_job WHERE id = ?', id);
  if (row === undefined) return undefined;
  const [last] = journal.rows(
    `SELECT turns.outcome AS outcome FROM cron_run AS run JOIN core_messages AS inbound ON inbound.id = run.inbound_id
     JOIN core_turns AS turns ON turns.id = inbound.turn_id WHERE run.job = ? AND turns.outcome IS NOT NULL ORDER BY run.due_at DESC LIMIT 1`,
    id,
  );
  return {
    hash: row.text('hash'),
    state: row.text('state'),
    enabled: row.number('enabled') === 1,
    lastOutcome: last?.text('outcome') ?? null,
  };
}
