import type { HomeFacts } from '../homes/fleet.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { plural, shellWord, timeText } from '../../core/util/text.ts';
import { failed, note, ok, skipped, warning, type Found } from '../../core/util/finding.ts';
import { checksOn, LIVE, type Check } from '../../core/doctor/check.ts';
import { hasDatabase, ofServer, type DatabaseLook } from './database-look.ts';
import type { Behind, Scene } from '../../core/doctor/scene.ts';

const inHome = { ...LIVE, only: (scene: Scene) => hasDatabase(scene) && !scene.isMachine };
const onMachine = { ...LIVE, only: (scene: Scene) => hasDatabase(scene) && scene.isMachine };

/** What runs where, and what no gateway runs. */
export const fleetChecks = checksOn('database', [
  ['database.holder', 'which gateway runs this home, and how far the database is behind', ofFleet(holder), inHome],
  [
    'database.homes',
    'each home of this machine runs, its lease holds, and the database has what it wrote',
    ofFleet(homes),
    onMachine,
  ],
  ['database.free', 'some gateway runs each home', ofFleet(free), onMachine],
  ['database.newer', 'no home needs a newer version than this one', ofFleet(newer), onMachine],
  ['database.owner', 'no other gateway has the id of this folder, as a copied folder would', ofFleet(owner), inHome],
  ['database.versions', 'the gateways are of one version', ofFleet(versions), { ...LIVE, only: hasDatabase }],
  ['database.gone', 'no gateway of many homes ended without stopping in order', ofFleet(gone), onMachine],
]);

/** How long a home may be between two gateways, and a commit may wait for the database; ms. */
const LONG_MS = 30_000;
/** Homes and gateways that a check tells one by one. */
const MOST = 20;

interface FleetLook extends DatabaseLook {
  readonly fleet: NonNullable<DatabaseLook['fleet']>;
}

function ofFleet(find: (look: FleetLook, scene: Scene) => readonly Found[]): Check['run'] {
  return ofServer((_, look, scene) =>
    look.fleet === null
      ? [skipped('The database has no homes of this version yet, or its user may not read them.')]
      : find({ ...look, fleet: look.fleet }, scene),
  );
}

function holder({ fleet, name }: FleetLook, { gateway, clock, command }: Scene): readonly Found[] {
  const home = fleet.homes.find((one) => one.name === name);
  if (home === undefined || (!home.isWhole && home.keptBy === null && !home.isHeld))
    return [note(`The database does not have the whole home ${name} yet.`, command('gateway'))];
  if (home.keptBy !== null) return [oldCopy(home)];
  if (home.needsNewer) return [tooOld(home, command('upgrade'))];
  if (!home.isHeld) return [note(`${freeText(home)}.`, command('gateway'))];
  const { store } = gateway ?? {};
  if (store !== undefined)
    return [
      lagging(name ?? '', store.behind, clock.now()) ?? ok(`This gateway runs the home ${name}, ${leaseText(home)}.`),
    ];
  const written = home.writtenAt === null ? '' : `; it last wrote ${timeText(clock.now() - home.writtenAt)} ago`;
  return [ok(`${home.gateway ?? 'A gateway'} runs the home ${name}, ${leaseText(home)}${written}.`)];
}

function homes({ fleet }: FleetLook, { gateway, clock, command }: Scene): readonly Found[] {
  if (gateway === null) return [];
  const here = (gateway.homes ?? []).filter(({ state }) => state !== 'waiting');
  if (here.length === 0) return [ok('No home runs on this machine now.')];
  const stored = new Map(fleet.homes.map((home) => [home.name, home]));
  return here.map(({ name, state, detail, behind }) => {
    if (state === 'failed')
      return failed(
        `The home ${name} does not run here: ${(detail ?? 'its start failed').replace(/\.$/u, '')}.`,
        command(`doctor --agent ${shellWord(name)}`),
      );
    const home = stored.get(name);
    const lag = behind === undefined ? null : lagging(name, behind, clock.now());
    if (lag !== null) return lag;
    return ok(`The home ${name} is ${state}${home?.isHeld === true ? `, ${leaseText(home)}` : ''}.`);
  });
}

/** Null: nothing waits for long. */
function lagging(name: string, { commits, since: from }: Behind, now: number): Found | null {
  const waits = from === null ? 0 : now - from;
  if (waits < LONG_MS) return null;
  return warning(
    `${plural(commits, 'commit')} of the home ${name} wait for the database, for ${timeText(waits)}: nothing is acknowledged there until it takes them.`,
    'Look at database.connects and database.commit, and at the log of the server',
  );
}

function free({ fleet }: FleetLook, { command }: Scene): readonly Found[] {
  const found = fleet.homes.filter(
    ({ isHeld, keptBy, needsNewer, leaseEndsInMs }) =>
      !isHeld && keptBy === null && !needsNewer && (leaseEndsInMs ?? -Infinity) < -LONG_MS,
  );
  if (found.length === 0) return [ok(`No home has waited for a gateway for more than ${timeText(LONG_MS)}.`)];
  const alive = fleet.gateways.filter(({ isAlive, only }) => isAlive && only === null);
  return some(found, (home) => {
    const says = freeText(home);
    if (!home.isWhole)
      return warning(
        `${says}, because only a part of it was written.`,
        'Start the assistant once more in the folder that it comes from',
      );
    if (alive.length === 0) return warning(`${says}, and no gateway of many homes is alive.`, command('gateway'));
    const unable = alive.filter(({ avoids }) => avoids.includes(home.name));
    if (unable.length > 0)
      return failed(
        `${says}, and it could not be opened by ${unable.map((one) => one.name).join(', ')}.`,
        'Read in the log of that gateway why',
      );
    const isFull = alive.every((one) => one.homes >= one.max);
    return warning(
      `${says}${isFull ? ', and all gateways have as many as homes.max allows' : ''}.`,
      isFull ? 'Start a gateway on another machine, or raise homes.max' : command('status'),
    );
  });
}

function newer({ fleet }: FleetLook, { command }: Scene): readonly Found[] {
  const found = fleet.homes.filter(({ needsNewer, keptBy }) => needsNewer && keptBy === null);
  if (found.length === 0) return [ok('This version can run every home.')];
  return some(found, (home) => tooOld(home, command('upgrade')));
}

function owner({ fleet, mark, name, knownAs }: FleetLook): readonly Found[] {
  const other = mark?.home === name ? fleet.gateways.find((one) => one.owner === mark?.owner) : undefined;
  if (other === undefined || !other.isAlive || other.name === knownAs)
    return [ok('No other gateway has the id of this folder.')];
  return [
    failed(
      `One folder was copied from the other: ${other.name} has the same id as ${knownAs}, so their gateways take the home ${name} from each other.`,
      'Stop the assistant in one of them, and start it there in an empty folder of that name, with its config.json alone',
    ),
  ];
}

function versions({ fleet, name }: FleetLook): readonly Found[] {
  const alive = fleet.gateways.filter(({ isAlive, only }) => isAlive && (name === null || only === name));
  const found = new Map(alive.map((one) => [one.version, one.name]));
  if (found.size < 2) return [ok('Its gateways are of one version.')];
  const list = Array.from(found, ([version, at]) => `${version} (${at})`).toSorted();
  return [
    note(
      `Gateways of ${plural(found.size, 'version')} run side by side, as during an upgrade: ${list.join(', ')}.`,
      'Upgrade the others too: a home that a newer version changed may not run on an older one',
    ),
  ];
}

function gone({ fleet }: FleetLook): readonly Found[] {
  // One that stops in order says before that it leaves.
  const found = fleet.gateways.filter(({ isAlive, isLeaving, only }) => !isAlive && !isLeaving && only === null);
  if (found.length === 0) return [ok('No gateway of many homes ended without stopping in order.')];
  return some(found, ({ name, version }) =>
    note(
      `The gateway ${name} (version ${version}) ended without stopping in order, or cannot reach the database.`,
      'If it is to run, start it there; the database forgets it after a day',
    ),
  );
}

function oldCopy({ name, keptAt }: HomeFacts): Found {
  return failed(
    `The home ${name} is in ${keptAt ?? 'another folder'}, and the database has no more than an old copy, which no gateway runs.`,
    `Start the assistant in that folder, or run there: ${assistantCommand('store migrate --to ADDRESS')}`,
  );
}

function tooOld({ name }: HomeFacts, upgrade: string): Found {
  return failed(`The home ${name} was written by a newer version, which this one cannot read.`, upgrade);
}

function leaseText({ leaseEndsInMs, isLeaving }: HomeFacts): string {
  return `its lease holds for ${timeText(leaseEndsInMs ?? 0)} more${isLeaving ? ', and it is handed over' : ''}`;
}

function freeText({ name, leaseEndsInMs }: HomeFacts): string {
  if (leaseEndsInMs === null) return `No gateway runs the home ${name}`;
  return `No gateway has run the home ${name} for ${timeText(-leaseEndsInMs)}`;
}

/** The first ones, and how many more there are. */
function some<T>(all: readonly T[], find: (one: T) => Found): readonly Found[] {
  const left = all.length - MOST;
  const shown = all.slice(0, MOST).map(find);
  return left > 0 ? [...shown, note(`… and ${left} more, which status --json lists.`)] : shown;
}
