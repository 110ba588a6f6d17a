import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { agreeing, PLACES, Seeker, startScopes, type Place, type ScopeWorld } from '../support/scope-world.ts';
import { waitFor } from '../support/wait.ts';
import { asked, note, saves } from './memory-world.ts';

/** Commands whose replies could name what others said. */
const COMMANDS = ['/why', '/context', '/status', '/tape', '/usage', '/memory', '/memory log', '/cron', '/skills'];

/** What each place could see in one phase: ids of places whose secrets it was shown. */
type Seen = Map<Place, ReadonlySet<number>>;

let scopes: ScopeWorld;
const seeker = new Seeker();
let seen: { readonly [phase in 'at once' | 'after a summary']: Seen };
let told: Seen;
let replies: Seen;
let summed: readonly {
  /** Who spoke first in the conversation. */
  readonly of: Place | undefined;
  readonly memory: ReadonlySet<number>;
  readonly all: ReadonlySet<number>;
}[];

const secretsIn = (texts: readonly string[]): ReadonlySet<number> =>
  new Set(
    texts.flatMap((text) => [...text.matchAll(/quokka(?<n>\d+)z/gu)].map((match) => Number(match.groups?.['n']))),
  );
const markOf = (n: number, phase: number, what: 'TELL' | 'SEEK'): string =>
  `MARK${phase}${String(n).padStart(2, '0')}${what}`;

/** One place after another in each chat, and all chats side by side. */
async function inEachChat(work: (place: Place, n: number) => Promise<void>): Promise<void> {
  const chats = Map.groupBy(PLACES.entries(), ([, { chat }]) => chat);
  let isOver = false;
  const all = Promise.all(
    [...chats.values()].map(async (places) => {
      for (const [n, place] of places) await work(place, n);
    }),
  ).finally(() => (isOver = true));
  await Promise.all([all, agreeing(scopes, () => isOver)]);
}

/** Has a turn at a place and waits for its end; what it was shown, and what was seen there meanwhile. */
async function turnAt(place: Place, mark: string, text: string): Promise<ReadonlySet<number>> {
  const before = (await place.heard(scopes)).length;
  await place.says(scopes, `${mark} ${text}`);
  await waitFor(() => seeker.ended.has(mark), { timeoutMs: 60_000, what: `the end of ${mark} at ${place.name}` });
  const heard = (await place.heard(scopes)).slice(before);
  return secretsIn([...(seeker.shown.get(mark) ?? []), ...heard]);
}

async function seekEverywhere(phase: number): Promise<Seen> {
  const found: Seen = new Map();
  await inEachChat(async (place, n) => {
    found.set(place, await turnAt(place, markOf(n, phase, 'SEEK'), 'please look for what was said'));
  });
  return found;
}

beforeAll(async () => {
  scopes = await startScopes();
  const { model } = scopes.world;
  model.setHandler((request) => seeker.answer(request));
  model.setAside((request) => {
    const { memory, conversation } = asked(request);
    const said = conversation.split('\n').filter((line) => line.startsWith('user'));
    const facts = said.flatMap((line) => line.match(/the secret shelf of place \d+ has quokka\d+z/gu) ?? []);
    return saves(`They talked. ${[...new Set(facts)].join('. ')}`, [memory, ...new Set(facts)].join('\n- ').trim());
  });

  told = new Map();
  await inEachChat(async (place, n) => {
    const text = `the secret shelf of place ${n} has quokka${n}z`;
    told.set(place, await turnAt(place, markOf(n, 0, 'TELL'), text));
  });
  const atOnce = await seekEverywhere(1);

  replies = new Map();
  await inEachChat(async (place) => {
    if (!place.takesCommands) return;
    const before = (await place.heard(scopes)).length;
    for (const command of COMMANDS) {
      const count = (await place.heard(scopes)).length;
      await place.says(scopes, command);
      await waitFor(async () => (await place.heard(scopes)).length > count, {
        what: `a reply to ${command} at ${place.name}`,
      });
    }
    replies.set(place, secretsIn((await place.heard(scopes)).slice(before)));
  });

  const summaries = model.asides.length;
  await inEachChat(async (place) => {
    if (!place.takesCommands) return;
    const count = (await place.heard(scopes)).length;
    await place.says(scopes, '/new');
    await waitFor(async () => (await place.heard(scopes)).length > count, { what: `a reply to /new at ${place.name}` });
  });
  const chats = new Set(PLACES.filter(({ takesCommands }) => takesCommands).map(({ chat }) => chat));
  // An owner's next message would answer a question that still waits.
  await agreeing(scopes, async () => {
    const written = (await note(scopes.world, 'HISTORY.md')).match(/They talked\./gu)?.length ?? 0;
    const { waiting } = await scopes.world.assistant.call('approvalsList', {});
    return written >= chats.size && waiting.length === 0;
  });
  summed = model.asides.slice(summaries).map((request) => {
    const { memory, conversation } = asked(request);
    const [, first = ''] = /MARK\d(\d\d)(?:TELL|SEEK)/u.exec(conversation) ?? [];
    return { of: PLACES[Number(first)], memory: secretsIn([memory]), all: secretsIn([request.text]) };
  });
  seen = { 'at once': atOnce, 'after a summary': await seekEverywhere(2) };
}, 300_000);

afterAll(() => scopes[Symbol.asyncDispose]());

/** The places whose secrets may be seen at a place. */
const allowed = (place: Place): readonly number[] =>
  PLACES.flatMap((other, n) => (place.isPrivate || other.chat === place.chat ? [n] : []));

const numbers = (ids: Iterable<number> | undefined): readonly number[] => [...(ids ?? [])].toSorted((a, b) => a - b);
const beyond = (ids: Iterable<number> | undefined, place: Place): readonly string[] =>
  numbers(ids)
    .filter((n) => !allowed(place).includes(n))
    .map((n) => PLACES[n]?.name ?? '');

describe.each(PLACES.map((place, n) => [place.name, place, n] as const))('%s', (_, place, n) => {
  test.each(['at once', 'after a summary'] as const)(
    'is shown what was told in its own chat, and elsewhere only to the owner alone (%s)',
    (phase) => {
      expect(beyond(seen[phase].get(place), place)).toEqual([]);
    },
  );

  test('is shown nothing of others while it tells something', () => {
    expect(beyond(told.get(place), place)).toEqual([]);
    expect(numbers(told.get(place))).toContain(n);
  });

  test('learns nothing of others from the replies to commands', () => {
    expect(beyond(replies.get(place), place)).toEqual([]);
  });
});

const KEPT = PLACES.flatMap(({ name }, n) => (name === 'api without a session' ? [] : [n]));

test.each(PLACES.filter(({ isPrivate }) => isPrivate).map((place) => [place.name, place] as const))(
  'the owner alone finds what everybody told: %s',
  (_, place) => {
    expect(numbers(seen['at once'].get(place))).toEqual(expect.arrayContaining(KEPT));
    expect(numbers(seen['after a summary'].get(place))).toEqual(expect.arrayContaining(KEPT));
  },
);

test('a summary is made of one chat alone; MEMORY.md is shown to those of the owner alone, and only they change it', async () => {
  expect(summed.length).toBeGreaterThan(5);
  for (const { of, memory, all } of summed) {
    if (of === undefined) throw new Error('a summary of nobody’s conversation');
    expect(beyond(all, of), of.name).toEqual([]);
    if (!of.isPrivate) expect(numbers(memory), of.name).toEqual([]);
  }
  const inMemory = numbers(secretsIn([await note(scopes.world, 'MEMORY.md')]));
  expect(inMemory.length).toBeGreaterThan(3);
  expect(inMemory.map((n) => PLACES[n]).filter((place) => place?.isPrivate !== true)).toEqual([]);
});
