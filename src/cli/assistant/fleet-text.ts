import type { FleetReport } from '../../host/homes/fleet-report.ts';
import type { HomeOnGateway, StoreFacts } from '../../core/gateway/assistant-port.ts';
import { countText, megabytes, plural, timeText } from '../../core/util/text.ts';

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
  const isUnknown = trouble !== null && store === undefined;
  return [
    ...(name === null || isUnknown
      ? []
      : [row('stored', `${name}: ${store === undefined ? homeText(own, now) : runsHere(store, now)}`)]),
    ...(store === undefined ? [] : [row('written', writtenText(store))]),
    ...(trouble === null ? [] : [row('database', trouble)]),
    ...shown(gateways, (gateway) => row('gateway', `${gateway.name}: ${gatewayText(gateway)}`)),
    ...versionLines(gateways),
    ...shown(others.filter(needsLook), (home) => row('stored', `${home.name}: ${homeText(home, now)}`)),
  ];
}

/** The homes of a machine's gateway, those first that do not run. */
export function homesLines(homes: readonly HomeOnGateway[], now: number): readonly string[] {
  const states = [...new Set(homes.map(({ state }) => state))].toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b));
  const counts = states.map((state) => `${countText(homes.filter((home) => home.state === state).length)} ${state}`);
  const here = homes.filter(({ state }) => state !== 'waiting');
  const sorted = here.toSorted((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state));
  return [
    row('homes', counts.join(', ') || 'none'),
    ...shown(sorted, (home) => row('home', `${home.name}: ${hereText(home, now)}`)),
  ];
}

const ORDER: readonly HomeOnGateway['state'][] = ['failed', 'starting', 'leaving', 'running', 'waiting'];

function hereText({ state, detail, turns, behind }: HomeOnGateway, now: number): string {
  return [
    `${state}${detail === undefined ? '' : ` (${detail})`}`,
    ...(turns === undefined ? [] : [turns === 0 ? 'no turn' : plural(turns, 'turn')]),
    ...(behind === undefined ? [] : [lagText(behind, now)]),
  ].join(', ');
}

/** Versions of the gateways that are alive, where there are several. */
function versionLines(gateways: readonly Gateway[]): readonly string[] {
  const alive = gateways.filter(({ isAlive }) => isAlive).map(({ version }) => version);
  const versions = [...new Set(alive)].toSorted();
  const counts = versions.map((version) => {
    const count = alive.filter((one) => one === version).length;
    return `${version} (${plural(count, 'gateway')})`;
  });
  return versions.length < 2 ? [] : [row('versions', `side by side: ${counts.join(', ')}`)];
}

/** No gateway runs it, or none of this version could. */
function needsLook({ isHeld, keptBy, needsNewer }: Home): boolean {
  return !isHeld || keptBy !== null || needsNewer;
}

function runsHere({ epoch, leaseUntil, isHeld, behind }: StoreFacts, now: number): string {
  const lease = isHeld
    ? `this gateway runs it, for certain for ${timeText(leaseUntil - now)} more`
    : 'it is not certain that this gateway still runs it, so it sends nothing';
  return `${lease} (epoch ${epoch}); ${lagText(behind, now)}`;
}

function lagText({ commits, since }: StoreFacts['behind'], now: number): string {
  if (since === null) return 'the database has everything';
  return `${plural(commits, 'commit')} wait for the database, since ${timeText(now - since)}`;
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
  const written = writtenAt === null ? '' : `, written ${timeText(now - writtenAt)} ago`;
  if (isHeld) {
    const what = isLeaving ? 'hands it over' : 'runs it';
    return `${gateway ?? 'a gateway'} ${what}, lease for ${timeText(leaseEndsInMs ?? 0)} more${written}${newer}`;
  }
  const free = leaseEndsInMs === null ? 'no gateway runs it' : `no gateway has run it for ${timeText(-leaseEndsInMs)}`;
  const part = isWhole ? '' : ', and only a part of it was written';
  return `${free}${part}${written}${newer}`;
}

function gatewayText({ isAlive, isLeaving, version, homes, load, only, max }: Gateway): string {
  if (!isAlive) return `${isLeaving ? 'stopped' : 'gone'} (version ${version})`;
  const share =
    only === null ? `${homes} of at most ${plural(max, 'home')}` : homes > 0 ? `runs ${only}` : `waits for ${only}`;
  return `version ${version}, ${share}${homes === 0 ? '' : `, load ${load.toFixed(1)}`}${isLeaving ? ', hands over what it has' : ''}`;
}

/** At most some lines, and how many are left out. */
function shown<T>(all: readonly T[], line: (one: T) => string): readonly string[] {
  const left = all.length - MOST;
  return [
    ...all.slice(0, MOST).map(line),
    ...(left > 0 ? [row('', `… and ${countText(left)} more, which --json lists`)] : []),
  ];
}

function row(label: string, text: string): string {
  return `${label.padEnd(9)} ${text}`;
}
