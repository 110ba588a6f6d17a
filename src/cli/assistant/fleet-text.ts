import type { FleetReport } from '../../app/storage/fleet-report.ts';
import type { StoreFacts } from '../../gateway/assistant-port.ts';
import { countText, megabytes, plural } from '../../util/text.ts';

type Home = FleetReport['homes'][number];
type Gateway = FleetReport['gateways'][number];

/** Lines of one kind that are shown; `--json` has all. */
const MOST = 20;

export interface FleetLook {
  /** How the database knows the home of this folder; null: the folder is that of a machine with many. */
  readonly name: string | null;
  readonly fleet: FleetReport;
  /** What the process that runs the home says; undefined: none runs here. */
  readonly store: StoreFacts | undefined;
  /** Milliseconds since 1970. */
  readonly now: number;
}

/** What the database knows, for people: this home, all gateways, and homes that someone has to look after. */
export function fleetLines({ name, fleet, store, now }: FleetLook): readonly string[] {
  const { trouble, gateways, homes } = fleet;
  const own = homes.find((home) => home.name === name);
  const others = homes.filter((home) => home !== own);
  return [
    ...(name === null
      ? []
      : [row('stored', `${name}: ${store === undefined ? homeText(own, now) : runsHere(store, now)}`)]),
    ...(store === undefined ? [] : [row('written', writtenText(store))]),
    ...(trouble === null ? [] : [row('database', trouble)]),
    ...shown(gateways, (gateway) => row('gateway', `${gateway.name}: ${gatewayText(gateway)}`)),
    ...shown(others.filter(needsLook), (home) => row('stored', `${home.name}: ${homeText(home, now)}`)),
  ];
}

/** No gateway runs it, or none of this version could. */
function needsLook({ isHeld, keptBy, needsNewer }: Home): boolean {
  return !isHeld || keptBy !== null || needsNewer;
}

function runsHere({ epoch, leaseUntil, isHeld, behind }: StoreFacts, now: number): string {
  const lease = isHeld
    ? `this gateway runs it, for certain for ${seconds(leaseUntil - now)} more`
    : 'it is not certain that this gateway still runs it, so it sends nothing';
  const lag =
    behind.since === null
      ? 'the database has everything'
      : `${plural(behind.commits, 'commit')} wait for the database, since ${seconds(now - behind.since)}`;
  return `${lease} (epoch ${epoch}); ${lag}`;
}

function writtenText({ written, failedRenewals }: StoreFacts): string {
  const { transactions, bytes } = written;
  const failed = failedRenewals === 0 ? '' : `, ${plural(failedRenewals, 'failed renewal')} of its lease`;
  return `${countText(transactions)} transactions, ${megabytes(bytes)}, by this process${failed}`;
}

function homeText(home: Home | undefined, now: number): string {
  if (home === undefined) return 'the database does not have it';
  const { isHeld, isLeaving, leaseEndsInMs, gateway, writtenAt, keptBy, keptAt, needsNewer, isWhole } = home;
  if (keptBy !== null) return `an old copy, the home itself is at ${keptAt ?? 'an unknown folder'}`;
  const newer = needsNewer ? ', and needs a newer version than this one' : '';
  const written = writtenAt === null ? '' : `, written ${seconds(now - writtenAt)} ago`;
  if (isHeld) {
    const what = isLeaving ? 'hands it over' : 'runs it';
    return `${gateway ?? 'a gateway'} ${what}, lease for ${seconds(leaseEndsInMs ?? 0)} more${written}${newer}`;
  }
  const since = leaseEndsInMs === null ? '' : `, for ${seconds(-leaseEndsInMs)}`;
  const part = isWhole ? '' : ', and only a part of it was written';
  return `no gateway runs it${since}${part}${written}${newer}`;
}

function gatewayText({ isAlive, isLeaving, version, homes, load, only, max }: Gateway): string {
  if (!isAlive) return `gone (version ${version})`;
  const share =
    only === null ? `${homes} of at most ${plural(max, 'home')}` : homes > 0 ? `runs ${only}` : `waits for ${only}`;
  return `version ${version}, ${share}${homes === 0 ? '' : `, load ${load.toFixed(1)}`}${isLeaving ? ', hands over what it has' : ''}`;
}

/** At most some lines, and how many are left out. */
function shown<T>(all: readonly T[], line: (one: T) => string): readonly string[] {
  const left = all.length - MOST;
  return [...all.slice(0, MOST).map(line), ...(left > 0 ? [row('', `and ${left} more, which --json lists`)] : [])];
}

function row(label: string, text: string): string {
  return `${label.padEnd(9)} ${text}`;
}

function seconds(ms: number): string {
  const total = Math.max(0, Math.round(ms / 1_000));
  if (total < 120) return `${total} s`;
  const minutes = Math.floor(total / 60);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h` : `${Math.floor(hours / 24)} days`;
}
