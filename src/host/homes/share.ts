import type { Fleet, GatewayFacts, HomeFacts } from './fleet.ts';
import type { Settling } from './settling.ts';

/** What a gateway is to do for its share. */
export interface Share {
  /** Names of free homes that it is to claim now, those first that wait for longest. */
  readonly claim: readonly string[];
  /** Names of homes that it is to hand over, once what they are doing has ended. */
  readonly handOver: readonly string[];
  /** Homes are on their way to it or from it, or wait for that: it is to look again soon. */
  readonly isMoving: boolean;
  /** Owners' names of gateways that did not get to homes of `claim`, which were theirs. */
  readonly slow: readonly string[];
}

export interface ShareOptions {
  /** Owners' names of gateways that get nothing, because they did not get to what was theirs. */
  readonly slow: ReadonlySet<string>;
  /** Whether a home of this gateway is not to go to that owner now. */
  readonly stays: Settling['stays'];
}

/** A gateway as it will be when each free home has been claimed. */
interface Bin {
  readonly gateway: GatewayFacts;
  /** Those that it runs and can hand over. */
  readonly own: HomeFacts[];
  load: number;
  count: number;
  /** It is handing over so many. */
  leaving: number;
  /** So many are for it to claim: they are free, or will be when another gateway has handed them over. */
  arriving: number;
}

/** Most homes that one gateway hands over at the same time, and that are handed over to one: more would only wait there to be opened. */
const AT_ONCE = 8;
/**
 * A gateway that has this part more than another one hands nothing over: loads change, and each move costs some seconds. By this part of
 * the home that moves its new gateway may be the fuller one afterwards; otherwise four homes that take about as much stay three and one.
 */
const TOLERATED = 0.1;
/** A home that is free for longer is for any gateway with room: the one whose share it is does not get to it. */
const PATIENCE_MS = 30_000;

/**
 * Says what one gateway (`me`: its owner's name) is to claim and to hand over. All gateways come to the same plan from the
 * same facts: each free home goes to the one with the least load that has room, and then the fullest hand over to the
 * emptiest as long as these are hardly fuller than they are afterwards, so no home comes back.
 */
export function shareOf(fleet: Fleet, me: string, { slow, stays }: ShareOptions): Share {
  const bins = binsOf(fleet).filter(({ gateway: { owner } }) => owner === me || !slow.has(owner));
  const mine = bins.find(({ gateway }) => gateway.owner === me);
  if (mine === undefined) return { claim: [], handOver: [], isMoving: false, slow: [] };
  const taken = new Set(bins.flatMap(({ own }) => own));
  const homeless = claimableHomes(fleet)
    .filter((home) => !taken.has(home) && (!home.isHeld || home.isLeaving || isAbandoned(fleet, home)))
    .toSorted((a, b) => b.load - a.load || (a.name < b.name ? -1 : 1));
  const room = mine.gateway.max - mine.count;
  const own: HomeFacts[] = [];
  const late: (HomeFacts & { readonly of: string })[] = [];
  let isMoving = mine.leaving > 0;
  for (const home of homeless) {
    const bin = emptiest(bins.filter((one) => hasRoom(one, home)));
    if (bin === undefined) continue;
    put(bin, home);
    if (home.isHeld) isMoving ||= bin === mine;
    else if (bin === mine) own.push(home);
    else if (waitedMs(home) > PATIENCE_MS && mayRun(mine, home)) late.push({ ...home, of: bin.gateway.owner });
  }
  const { moved, isWaiting } = movesOf(bins, mine, stays);
  isMoving ||= isWaiting || moved.length > 0;
  const others = own.length > 0 ? [] : late.slice(0, Math.max(0, room));
  const claim = [...own, ...others].toSorted((a, b) => waitedMs(b) - waitedMs(a)).map(({ name }) => name);
  return { claim, handOver: moved, isMoving, slow: others.map(({ of }) => of) };
}

/** For how long a home is free. */
const waitedMs = ({ leaseEndsInMs }: HomeFacts): number => -(leaseEndsInMs ?? 0);

/** The gateways that take homes, with those that they run. */
function binsOf({ gateways, homes }: Fleet): readonly Bin[] {
  const bins = gateways
    .filter(({ isAlive, isLeaving, isTaking, only }) => isAlive && isTaking && !isLeaving && only === null)
    .map((gateway): Bin => ({ gateway, own: [], load: 0, count: 0, leaving: 0, arriving: 0 }));
  const byOwner = new Map(bins.map((bin) => [bin.gateway.owner, bin]));
  for (const home of homes) {
    const bin = home.isHeld ? byOwner.get(home.owner ?? '') : undefined;
    if (bin === undefined) continue;
    bin.count += 1;
    if (home.isLeaving) {
      bin.leaving += 1;
    } else {
      bin.load += home.load;
      bin.own.push(home);
    }
  }
  return bins;
}

/** Homes that a gateway of many may run: whole, in the database, and not the one home of a gateway that is alive. */
function claimableHomes({ gateways, homes }: Fleet): readonly HomeFacts[] {
  const reserved = new Set(gateways.filter(({ isAlive }) => isAlive).map(({ only }) => only));
  return homes.filter(({ name, isWhole, keptBy }) => isWhole && keptBy === null && !reserved.has(name));
}

/** Its gateway is gone or stops, so its lease ends soon. */
function isAbandoned({ gateways }: Fleet, { owner }: HomeFacts): boolean {
  const holder = gateways.find((one) => one.owner === owner);
  return holder !== undefined && holder.only === null && (!holder.isAlive || holder.isLeaving);
}

function put(bin: Bin, { load }: HomeFacts): void {
  bin.load += load;
  bin.count += 1;
  bin.arriving += 1;
}

/** Its program knows what the home needs, and did not fail to open it. */
const mayRun = ({ gateway }: Bin, { name, oldestReader }: HomeFacts): boolean =>
  gateway.schema >= oldestReader && !gateway.avoids.includes(name);

const hasRoom = (bin: Bin, home: HomeFacts): boolean => bin.count < bin.gateway.max && mayRun(bin, home);

function emptiest(bins: readonly Bin[]): Bin | undefined {
  return bins.reduce<Bin | undefined>(
    (least, bin) => (least === undefined || comesBefore(bin, least) ? bin : least),
    undefined,
  );
}

const comesBefore = (a: Bin, b: Bin): boolean =>
  a.load < b.load || (a.load === b.load && a.gateway.owner < b.gateway.owner);

/** Which homes of one gateway move, when each hands over at most a few and is given no more than it can open soon. */
function movesOf(
  bins: readonly Bin[],
  mine: Bin,
  stays: Settling['stays'],
): { readonly moved: readonly string[]; /** More is to move later. */ readonly isWaiting: boolean } {
  const moved: string[] = [];
  let isWaiting = false;
  const left = new Map(bins.map((bin) => [bin, AT_ONCE - bin.leaving]));
  for (;;) {
    const move = nextMove(
      bins.filter((bin) => (left.get(bin) ?? 0) > 0),
      bins,
      (home, from, to) => from === mine && stays(home.name, to.gateway.owner),
    );
    if (move === undefined) return { moved, isWaiting };
    const { home, from, to } = move;
    if (to.arriving >= AT_ONCE) {
      // Not to a fuller one instead: from there it would move again.
      left.set(from, 0);
      isWaiting ||= from === mine;
      continue;
    }
    from.own.splice(from.own.indexOf(home), 1);
    from.load -= home.load;
    from.count -= 1;
    put(to, home);
    left.set(from, (left.get(from) ?? 0) - 1);
    if (from === mine) moved.push(home.name);
  }
}

/** From the fullest to the emptiest, the home that evens them out most. */
function nextMove(
  donors: readonly Bin[],
  bins: readonly Bin[],
  stays: (home: HomeFacts, from: Bin, to: Bin) => boolean,
): { readonly home: HomeFacts; readonly from: Bin; readonly to: Bin } | undefined {
  for (const from of donors.toSorted((a, b) => (comesBefore(b, a) ? -1 : 1))) {
    for (const to of bins.toSorted((a, b) => (comesBefore(a, b) ? -1 : 1))) {
      const gap = from.load - to.load;
      if (gap <= from.load * TOLERATED) break;
      const home = from.own
        .filter((one) => one.load * (2 - TOLERATED) <= gap && hasRoom(to, one) && !stays(one, from, to))
        .reduce<HomeFacts | undefined>(
          (most, one) => (most === undefined || one.load > most.load ? one : most),
          undefined,
        );
      if (home !== undefined) return { home, from, to };
    }
  }
  return undefined;
}
