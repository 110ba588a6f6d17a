import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SimulatedFleet } from './simulated-fleet.ts';

const seed = Number(process.env['FC_SEED'] ?? Date.now() % 1_000_000);
const runs = { numRuns: 120, seed };

const load = fc.oneof(
  fc.constant(1),
  fc.integer({ min: 100, max: 2_000 }).map((n) => n / 100),
);
const loads = fc.array(load, { minLength: 1, maxLength: 60 });
const gateways = fc.integer({ min: 1, max: 6 });
const event = fc.oneof(
  fc.record({ kind: fc.constant('start' as const), max: fc.integer({ min: 5, max: 80 }) }),
  fc.record({ kind: fc.constant('stop' as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant('kill' as const), which: fc.nat(20) }),
  fc.record({ kind: fc.constant('rest' as const), rounds: fc.integer({ min: 1, max: 40 }) }),
);

describe('the share of a gateway', () => {
  test('whatever comes, goes and is killed, each free home is taken soon, and none is over the limit of a gateway', () => {
    fc.assert(
      fc.property(loads, fc.array(event, { maxLength: 12 }), (some, events) => {
        const fleet = new SimulatedFleet(some);
        fleet.start(1_000);
        for (const one of events) {
          if (one.kind === 'start') fleet.start(one.max);
          else if (one.kind === 'stop') fleet.stop(one.which);
          else if (one.kind === 'kill') fleet.kill(one.which);
          else for (let n = 0; n < one.rounds; n += 1) fleet.round();
        }
        fleet.settle();
        const free = some.length - fleet.held();
        expect(free).toBe(Math.max(0, some.length - fleet.room()));
        expect(fleet.overMax).toBe(0);
      }),
      runs,
    );
  });

  test('becomes even: what is left no single home could even out, and then nothing moves any more', () => {
    fc.assert(
      fc.property(loads, gateways, gateways, (some, first, later) => {
        const fleet = new SimulatedFleet(some);
        for (let n = 0; n < first; n += 1) fleet.start(1_000);
        fleet.settle();
        for (let n = 0; n < later; n += 1) fleet.start(1_000);
        fleet.settle();
        expect(fleet.mendable()).toEqual([]);
        const moved = fleet.claims;
        fleet.settle();
        expect(fleet.claims).toBe(moved);
      }),
      runs,
    );
  });

  test('is the same number of homes for each gateway when all of them take about as much', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 100, max: 101 }), { minLength: 1, maxLength: 12 }),
        fc.integer({ min: 2, max: 4 }),
        (some, many) => {
          const fleet = new SimulatedFleet(some.map((n) => n / 100));
          const owners = [fleet.start(1_000)];
          fleet.settle();
          while (owners.length < many) owners.push(fleet.start(1_000));
          fleet.settle();
          const counts = owners.map((owner) => fleet.homesOf(owner));
          expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
        },
      ),
      runs,
    );
  });

  test('moves no home back and forth: a gateway that comes takes from the others, and no home moves twice', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 200 }), gateways, (count, first) => {
        const fleet = new SimulatedFleet(Array.from({ length: count }, () => 1));
        for (let n = 0; n < first; n += 1) fleet.start(1_000);
        fleet.settle();
        const newcomer = fleet.start(1_000);
        fleet.settle();
        expect(Math.max(0, ...fleet.moves.values())).toBeLessThanOrEqual(1);
        expect(fleet.receivers()).toEqual(fleet.moves.size === 0 ? [] : [newcomer]);
      }),
      runs,
    );
  });

  test('of a machine that joins one with 200 homes is half of them within 18 s, and people wait for no more homes than it opens soon', () => {
    const fleet = new SimulatedFleet(
      Array.from({ length: 200 }, () => 1),
      { drainMs: 400 },
    );
    const first = fleet.start(1_000);
    fleet.settle();
    const second = fleet.start(1_000);
    let away = 0;
    const took = fleet.timeUntil(() => {
      away = Math.max(away, fleet.away());
      return fleet.running(second) >= 95;
    }, 60_000);
    expect(took).toBeLessThanOrEqual(18_000);
    expect(away).toBeLessThanOrEqual(16);
    fleet.settle();
    expect(fleet.homesOf(first) - fleet.homesOf(second)).toBeLessThanOrEqual(10);
  });

  test('that opens homes slowly leaves none waiting for those that were handed over after it', () => {
    const fleet = new SimulatedFleet(
      Array.from({ length: 400 }, () => 1),
      { drainMs: 200, openMs: 2_000 },
    );
    const first = fleet.start(1_000);
    fleet.settle();
    const second = fleet.start(1_000);
    let waits = 0;
    fleet.timeUntil(() => {
      waits = Math.max(waits, fleet.longestFree());
      return fleet.running(second) >= 190;
    }, 300_000);
    expect(waits).toBeLessThanOrEqual(8_000);
    expect(fleet.receivers()).toEqual([second]);
    expect(fleet.homesOf(first)).toBeLessThanOrEqual(210);
  });

  test('grows no faster than the machine opens homes, however many others hand theirs over', () => {
    const fleet = new SimulatedFleet(
      Array.from({ length: 300 }, () => 1),
      { drainMs: 200, openMs: 2_000 },
    );
    for (let n = 0; n < 5; n += 1) fleet.start(1_000);
    fleet.settle();
    const newcomer = fleet.start(1_000);
    let away = 0;
    fleet.timeUntil(() => {
      away = Math.max(away, fleet.away());
      return fleet.running(newcomer) >= 45;
    }, 60_000);
    expect(away).toBeLessThanOrEqual(16);
  });

  test('moves no home on, and none back, within a minute, however loads rise and fall', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 4, max: 60 }),
        fc.integer({ min: 2, max: 5 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 20 })),
        (count, many, any) => {
          const fleet = new SimulatedFleet(Array.from({ length: count }, () => 1));
          for (let n = 0; n < many; n += 1) fleet.start(1_000);
          fleet.settle();
          fleet.start(1_000);
          for (let n = 0; n < 55; n += 1) {
            fleet.setLoads(() => any.next().value);
            fleet.round();
          }
          expect(Math.max(0, ...fleet.moves.values())).toBeLessThanOrEqual(1);
        },
      ),
      runs,
    );
  });

  test('is steady while loads go up and down by a tenth', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 40, max: 120 }),
        fc.integer({ min: 2, max: 4 }),
        fc.infiniteStream(fc.nat(100)),
        (count, many, noise) => {
          const fleet = new SimulatedFleet(Array.from({ length: count }, () => 5));
          for (let n = 0; n < many; n += 1) fleet.start(1_000);
          fleet.settle();
          for (let n = 0; n < 50; n += 1) {
            fleet.setLoads(() => 4.75 + Number(noise.next().value) / 200);
            fleet.round();
          }
          expect(fleet.moves.size).toBe(0);
        },
      ),
      runs,
    );
  });

  test('leaves a home that cannot be opened on one machine to another one, and both keep their share', () => {
    fc.assert(
      fc.property(loads, fc.integer({ min: 2, max: 5 }), fc.nat(100), (some, many, which) => {
        const fleet = new SimulatedFleet(some);
        const started = Array.from({ length: many }, () => fleet.start(1_000));
        const broken = `home-${which % some.length}`;
        fleet.cannotOpen(started[0] ?? '', broken);
        fleet.settle();
        expect(fleet.held()).toBe(some.length);
        expect(fleet.holderOf(broken)).not.toBe(started[0]);
        expect(fleet.mendable()).toEqual([]);
      }),
      runs,
    );
  });

  test('of homes that need a newer program goes to gateways that have it', () => {
    const fleet = new SimulatedFleet(
      Array.from({ length: 12 }, () => 1),
      { oldestReader: 5 },
    );
    const old = fleet.start(1_000, { schema: 4 });
    const next = fleet.start(1_000, { schema: 5 });
    fleet.settle();
    expect(fleet.homesOf(old)).toBe(0);
    expect(fleet.homesOf(next)).toBe(12);
    expect(fleet.moves.size).toBe(0);
  });

  test('leaves homes alone that a folder has, that were not wholly written, or that have a gateway of their own', () => {
    const fleet = new SimulatedFleet([1, 1, 1, 1]);
    fleet.change('home-0', { keptBy: 'someone' });
    fleet.change('home-1', { isWhole: false });
    fleet.startOnly('home-2');
    const many = fleet.start(1_000);
    fleet.settle();
    expect(fleet.holderOf('home-3')).toBe(many);
    expect(fleet.held()).toBe(1);
  });

  test('that one gateway does not get to is taken by another after half a minute, and stays there', () => {
    const fleet = new SimulatedFleet([1, 1, 1, 1]);
    fleet.start(1_000);
    fleet.settle();
    fleet.stop(0);
    fleet.start(1_000, { isHung: true });
    const other = fleet.start(1_000);
    for (let n = 0; n < 25; n += 1) fleet.round();
    expect(fleet.homesOf(other)).toBe(2);
    for (let n = 0; n < 10; n += 1) fleet.round();
    expect(fleet.homesOf(other)).toBe(4);
    for (let n = 0; n < 120; n += 1) fleet.round();
    expect(fleet.homesOf(other)).toBe(4);
  });

  test('is nothing for a gateway that is alive and does not ask for it', () => {
    const fleet = new SimulatedFleet([1, 1, 1, 1]);
    const deaf = fleet.start(1_000, { isHung: true, isTaking: false });
    const other = fleet.start(1_000);
    fleet.settle();
    expect(fleet.homesOf(other)).toBe(4);
    expect(fleet.homesOf(deaf)).toBe(0);
  });
});
