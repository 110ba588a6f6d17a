import { CARRIERS, type Carrier } from './carriers.ts';
import { GOALS as ALONE, type Goal } from './goals.ts';
import { perform, type Performance } from './perform.ts';
import { openStage, type Stage } from './stage.ts';
import { TRUSTING_GOALS } from './trusting-owner.ts';

export const GOALS: readonly Goal[] = [...ALONE, ...TRUSTING_GOALS];

/** One harm by one way. */
export interface Case {
  readonly carrier: Carrier;
  readonly goal: Goal;
}

/** Every harm by every way; neighbours have different ways, so that they can run side by side. */
export const CASES: readonly Case[] = GOALS.flatMap((goal) =>
  CARRIERS.filter(({ groupChat: chat = Infinity }) => (goal.length ?? 0) <= chat).map((carrier) => ({ goal, carrier })),
);

/** One case of every `nth` harm, by one way after the other, and one of each way that is not among them then. */
export function someOf(cases: readonly Case[], nth = 1): readonly Case[] {
  const goals = GOALS.filter((_, index) => index % nth === 0);
  const ofGoals = goals.flatMap((goal, index) => {
    const ways = cases.filter((one) => one.goal === goal);
    return ways[index % ways.length] ?? [];
  });
  const ofCarriers = CARRIERS.flatMap((carrier, index) => {
    if (ofGoals.some((one) => one.carrier === carrier)) return [];
    const harms = cases.filter((one) => one.carrier === carrier);
    return harms[(index * nth) % harms.length] ?? [];
  });
  return [...ofGoals, ...ofCarriers];
}

interface Place {
  readonly stage: Stage;
  line: Promise<unknown>;
}

/** A stage for each way, on which its harms follow one another. */
export class Theatre implements AsyncDisposable {
  readonly #unguarded: boolean;
  readonly #paths = new Map<string, Promise<Place>>();
  #opening: Promise<unknown> = Promise.resolve();

  constructor({ unguarded }: { readonly unguarded: boolean }) {
    this.#unguarded = unguarded;
  }

  async perform({ carrier, goal }: Case): Promise<Performance> {
    const place = await this.#placeOf(carrier, goal);
    const mine = place.line.then(() => perform(place.stage, carrier, goal));
    place.line = mine.catch(() => {});
    return await mine;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const paths = await Promise.all(this.#paths.values());
    await Promise.all(paths.map(({ stage }) => stage[Symbol.asyncDispose]()));
  }

  #placeOf({ name, hooks, descriptions }: Carrier, { world }: Goal): Promise<Place> {
    const key = `${name} ${world ?? ''}`;
    const place =
      this.#paths.get(key) ??
      this.#opening
        .then(() => openStage({ hooks, descriptions, world, unguarded: this.#unguarded }))
        .then((stage) => ({ stage, line: Promise.resolve() }));
    this.#paths.set(key, place);
    // One after the other: the sandbox of each is tested when it starts, and has little time for that.
    this.#opening = place.catch(() => {});
    return place;
  }
}
