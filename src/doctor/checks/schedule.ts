import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hashOfJob, scheduleOf, type Job } from '../../automation/job.ts';
import { parseJobs } from '../../automation/jobs-file.ts';
import { openTasks } from '../../automation/open-tasks.ts';
import { nextRun } from '../../automation/schedule.ts';
import { hasChannel } from '../../config/channels.ts';
import { machineZone } from '../../util/time-zone.ts';
import { failed, note, ok, warning, type Check, type Finding } from '../check.ts';
import type { Scene } from '../scene.ts';

export const scheduleChecks: readonly Check[] = [
  { id: 'cron.file', subject: 'schedule', about: 'cron/jobs.json can be read', run: file },
  {
    id: 'cron.jobs',
    subject: 'schedule',
    about: 'each job runs: it is agreed to, switched on, did not fail, and comes due',
    run: jobs,
  },
  {
    id: 'heartbeat.works',
    subject: 'schedule',
    about: 'the heartbeat can run: it has hours, tasks and someone to tell',
    run: heartbeat,
  },
];

const HOURS = /^(?<fromHour>\d\d):(?<fromMinute>\d\d)-(?<toHour>\d\d):(?<toMinute>\d\d)$/u;
const DAY_MINUTES = 1_440;
/** So often the model's server may refuse before the heartbeat rests. */
const REFUSED = 3;

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

function file(scene: Scene): readonly Finding[] {
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

function jobs(scene: Scene): readonly Finding[] {
  const read = readJobs(scene);
  const { loaded, command } = scene;
  if (read === undefined || 'problem' in read || read.jobs.length === 0) return [];
  if (loaded !== null && !loaded.config.cron.enabled) {
    return [
      warning('The schedule is switched off (cron.enabled), so no job runs.', command('config set cron.enabled true')),
    ];
  }
  const zone = loaded?.config.agent.timezone ?? read.zone ?? machineZone();
  const findings = read.jobs.flatMap((job) => jobFindings(scene, job, zone));
  return findings.length === 0 ? [ok('Each job comes due.')] : findings;
}

function jobFindings({ journal, clock, command }: Scene, job: Job, zone: string): readonly Finding[] {
  const agreed = journal?.jobs().find(({ id }) => id === job.id);
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

function heartbeat(scene: Scene): readonly Finding[] {
  const { loaded, paths, journal, command } = scene;
  if (loaded === null) return [];
  const { enabled, activeHours, everyMinutes, target } = loaded.config.heartbeat;
  if (!enabled) return [ok('It is switched off.')];
  const looks = journal?.heartbeats(REFUSED) ?? [];
  if (looks.length === REFUSED && looks.every((action) => action === 'refused')) {
    return [warning('It rests, because its model was refused three times in a row.', command('why'))];
  }
  const minutes = minutesOf(activeHours);
  if (minutes < everyMinutes) {
    return [
      warning(
        `It may never run: heartbeat.activeHours has ${minutes} minutes a day, and heartbeat.everyMinutes is ${everyMinutes}.`,
        command('config unset heartbeat.activeHours'),
      ),
    ];
  }
  const path = join(paths.workspace, 'HEARTBEAT.md');
  if (!existsSync(path)) return [note(`It does nothing, because there is no ${path}.`, command('doctor --fix'))];
  if (openTasks(readFileSync(path, 'utf8')) === '') return [ok('No task is open in HEARTBEAT.md, so it does nothing.')];
  if (target === 'owner' && journal !== null && journal.ownersChats().every((channel) => channel === 'terminal')) {
    return [
      note(
        'It has tasks but no one to tell: no owner wrote in a direct chat on a chat platform yet.',
        'Write to your bot once',
      ),
    ];
  }
  return [ok('It looks after the tasks of HEARTBEAT.md.')];
}

/** How long hours such as `08:00-22:00` are; null and two equal times are the whole day. */
function minutesOf(hours: string | null): number {
  const groups = HOURS.exec(hours ?? '')?.groups;
  if (groups === undefined) return DAY_MINUTES;
  const at = (name: string): number => Number(groups[name]);
  const length = at('toHour') * 60 + at('toMinute') - at('fromHour') * 60 - at('fromMinute');
  return length <= 0 ? length + DAY_MINUTES : length;
}
