import { expect } from 'vitest';
import { seeded } from './crash-process.ts';
import { somebody, startDiscordWorld } from './discord-world.ts';
import type { DiscordFault } from './fake-discord.ts';
import type { SlackFault } from './fake-slack.ts';
import { startSlackWorld } from './slack-world.ts';
import { waitFor } from './wait.ts';
import type { World } from './world.ts';

export interface StormSize {
  readonly seed: number;
  readonly chats: number;
  /** In each chat, one after another without waiting for answers. */
  readonly messages: number;
  /** Between two rounds of messages, ms. */
  readonly everyMs: number;
  /** Of all calls that go wrong. */
  readonly share: number;
  /** Between two troubles of the line that brings messages, ms. */
  readonly lineEveryMs: number;
}

export interface StormReport {
  readonly faults: number;
  readonly lineFaults: number;
  /** From the end of the storm to the last answer. */
  readonly recoveredMs: number;
}

/** A platform in bad weather, with people who each talk to the assistant alone. */
interface Weather extends AsyncDisposable {
  readonly world: World;
  sends(person: number, text: string): void;
  /** What the assistant wrote to a person, oldest first. */
  texts(person: number): readonly string[];
  /** Calls go wrong as it picks; undefined: none does any more. */
  calls(pick: (<Fault>(faults: readonly Fault[]) => Fault | undefined) | undefined): void;
  /** What can happen to the line. */
  readonly line: readonly (() => void)[];
  /** The line is well again. */
  clear(): void;
}

/** People write while everything of a platform fails; checks that each message has one turn and one answer, in order. */
export async function platformStorm(
  open: (chats: number) => Promise<Weather>,
  { seed, chats, messages, everyMs, share, lineEveryMs }: StormSize,
): Promise<StormReport> {
  const random = seeded(seed);
  await using weather = await open(chats);
  const { world } = weather;
  const people = Array.from({ length: chats }, (_, n) => n);
  world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  // A platform tells of somebody who has never written only while it is heard.
  for (const person of people) weather.sends(person, 'hello');
  await waitFor(() => people.every((person) => weather.texts(person).length === 1), { what: 'the first answers' });
  let [faults, lineFaults] = [0, 0];
  weather.calls((kinds) => {
    if (random() >= share) return undefined;
    faults += 1;
    return kinds[Math.floor(random() * kinds.length)];
  });
  const troubles = setInterval(() => {
    lineFaults += 1;
    weather.line[Math.floor(random() * weather.line.length)]?.();
  }, lineEveryMs);
  try {
    for (let n = 0; n < messages; n += 1) {
      for (const person of people) weather.sends(person, `message ${n}`);
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  } finally {
    clearInterval(troubles);
  }
  weather.calls(undefined);
  weather.clear();
  const began = performance.now();
  const isComplete = (person: number): boolean => new Set(weather.texts(person)).size >= messages + 1;
  await waitFor(() => people.every(isComplete), { timeoutMs: 150_000, what: 'an answer to every message' });
  const recoveredMs = performance.now() - began;
  await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { timeoutMs: 60_000 });
  const expected = ['Answer to hello', ...Array.from({ length: messages }, (_, n) => `Answer to message ${n}`)];
  for (const person of people) expect(weather.texts(person), `person ${person}`).toEqual(expected);
  expect(world.model.requests).toHaveLength(chats * (messages + 1));
  return { faults, lineFaults, recoveredMs };
}

const QUEUED = { agent: { whenBusy: 'queue' } };

export async function discordWeather(chats: number): Promise<Weather> {
  const people = Array.from({ length: chats }, (_, n) => somebody(`Person ${n}`, { id: String(5_000 + n) }));
  const ids = people.map(({ id }) => id);
  const world = await startDiscordWorld({
    config: QUEUED,
    discord: { allowFrom: ids, stream: false },
    server: { heartbeatMs: 1_000 },
  });
  const { discord } = world;
  const places = people.map((person) => discord.direct(person));
  const sends: readonly DiscordFault[] = [
    'reset-before',
    'reset-after',
    { status: 429, retryAfter: 0.3 },
    { status: 500 },
    { status: 500, taken: true },
    { status: 502, body: 'html' },
    { delayMs: 300 },
  ];
  const late: DiscordFault = { delayMs: 100 };
  const reads: readonly DiscordFault[] = [
    'reset-before',
    { status: 500 },
    { status: 429, retryAfter: 0.3 },
    late,
    late,
  ];
  const { gateway } = discord;
  return {
    world,
    sends: (n, text) => {
      const [place, person] = [places[n], people[n]];
      if (place !== undefined && person !== undefined) discord.sends(place, person, text);
    },
    texts: (n) => discord.sent({ id: places[n]?.id ?? '' }).map(({ content }) => content),
    calls: (pick) =>
      discord.setFaultHandler(
        pick === undefined ? undefined : (route) => pick(/^POST .*\/messages$/u.test(route) ? sends : reads),
      ),
    line: [
      () => gateway.askToReconnect(),
      () => gateway.invalidate(true),
      () => gateway.invalidate(false),
      () => gateway.drop(),
      () => gateway.drop(4_000),
      () => gateway.mute(),
      () => gateway.sendRaw('{"op":'),
      () => discord.cutAll(),
    ],
    clear: () => discord.cutAll(),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}

export async function slackWeather(chats: number): Promise<Weather> {
  const people = Array.from({ length: chats }, (_, n) => `U0P${n}`);
  const world = await startSlackWorld({
    config: QUEUED,
    slack: { allowFrom: people, stream: false },
    server: { redeliverMs: 300 },
  });
  const { slack } = world;
  for (const person of people) slack.workspace.addPerson(person, person);
  const direct = (n: number): string => `D0P${n}`;
  const sends: readonly SlackFault[] = [
    'reset-before',
    'reset-after',
    { error: 'internal_error' },
    { error: 'fatal_error', taken: true },
    { error: 'ratelimited' },
    { status: 429, retryAfter: 1 },
    { status: 503, taken: true },
    { delayMs: 300 },
  ];
  const reads: readonly SlackFault[] = ['reset-before', { error: 'internal_error' }, { status: 429, retryAfter: 1 }];
  const { sockets } = slack;
  return {
    world,
    sends: (n, text) => void slack.sends(people[n] ?? '', direct(n), text),
    texts: (n) => slack.sentPosts.filter(({ chatId }) => chatId === direct(n)).map(({ text }) => text),
    calls: (pick) =>
      slack.setFaultHandler(
        pick === undefined ? undefined : (method) => pick(method === 'chat.postMessage' ? sends : reads),
      ),
    line: [
      () => sockets.disconnect('refresh_requested'),
      () => sockets.disconnect('warning'),
      () => sockets.disconnect('too_many_websockets'),
      () => sockets.mute(),
      () => sockets.cutAll(),
      () => slack.cutAll(),
    ],
    clear: () => slack.cutAll(),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  };
}
