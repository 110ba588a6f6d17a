import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { note, ok, warning, type Check, type Found, type Scene } from '../../core/api-doctor.ts';
import { openTasks } from './open-tasks.ts';
import { heartbeat } from './settings.ts';

export const checks: readonly Check[] = [
  {
    id: 'heartbeat.works',
    subject: 'schedule',
    about: 'the heartbeat can run: it has hours, tasks and someone to tell',
    run: look,
  },
];

const HOURS = /^(?<fromHour>\d\d):(?<fromMinute>\d\d)-(?<toHour>\d\d):(?<toMinute>\d\d)$/u;
const DAY_MINUTES = 1_440;
/** So often the model's server may refuse before the heartbeat rests. */
const REFUSED = 3;

function look(scene: Scene): readonly Found[] {
  const { loaded, paths, journal, command } = scene;
  if (loaded === null) return [];
  const { enabled, activeHours, everyMinutes, target } = heartbeat.of(loaded.config);
  if (!enabled) return [ok('It is switched off.')];
  const looks = journal?.rows('SELECT action FROM heartbeat ORDER BY at DESC LIMIT ?', REFUSED) ?? [];
  if (looks.length === REFUSED && looks.every((row) => row.text('action') === 'refused')) {
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
