import { expect } from 'vitest';
import { seeded } from './crash-process.ts';
import type { TelegramFault } from './telegram-faults.ts';
import { waitFor } from './wait.ts';
import { chatOf, startWorld, type World } from './world.ts';

export interface StormOptions {
  readonly seed: number;
  readonly chats: number;
  /** In each chat, one after another without waiting for answers. */
  readonly messages: number;
  /** Between two rounds of messages, ms. */
  readonly everyMs: number;
  readonly sendFaults: readonly TelegramFault[];
  readonly pollFaults: readonly TelegramFault[];
  /** Of all calls. */
  readonly share: number;
}

/** How a storm went. Times are ms from its end, when the platform is well again. */
export interface StormReport {
  readonly faults: number;
  readonly recoveredMs: number;
  readonly marked: number;
}

const FIRST_CHAT = 1_000;

/**
 * People write while the Bot API fails in every way it has, repeats updates and mixes up their order. Checks that every
 * message had one turn and an answer in its place, and that no answer is there twice but for copies marked as such.
 */
export async function weather(options: StormOptions): Promise<StormReport> {
  const { chats, messages, everyMs } = options;
  const random = seeded(options.seed);
  const ids = Array.from({ length: chats }, (_, n) => FIRST_CHAT + n);
  const telegram = { allowFrom: ids.map(String), stream: false };
  await using world = await startWorld({ config: { channels: { telegram }, agent: { whenBusy: 'queue' } } });
  world.model.setHandler(({ view }) => `Answer to ${view.lastUserText.split('\n').at(-1)}`);
  const storm = startStorm(world, options, random);
  for (let n = 0; n < messages; n += 1) {
    for (const id of ids) {
      const { updateId } = world.telegram.userSays(id, `message ${n}`);
      if (random() < 0.2) world.telegram.duplicateUpdate(updateId, { asNew: random() < 0.5 });
    }
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  const isHalfway = (): boolean => world.telegram.sentMessages.length >= (chats * messages) / 2;
  await waitFor(isHalfway, { timeoutMs: 300_000, what: 'half of the answers' });
  storm.end();
  const began = performance.now();
  const plain = (id: number): readonly string[] => chatOf(world, id).map((text) => text.replace(/^↻ /u, ''));
  const isComplete = (id: number): boolean => new Set(plain(id)).size >= messages;
  await waitFor(() => ids.every(isComplete), { timeoutMs: 120_000, what: 'an answer to every message' });
  await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, { timeoutMs: 120_000 });
  const recoveredMs = performance.now() - began;
  const expected = Array.from({ length: messages }, (_, n) => `Answer to message ${n}`);
  for (const id of ids) {
    const texts = chatOf(world, id);
    expect([...new Set(plain(id))], `chat ${id}`).toEqual(expected);
    const unmarked = texts.filter((text) => !text.startsWith('↻ '));
    expect(unmarked, `chat ${id}`).toEqual([...new Set(unmarked)]);
  }
  expect(world.model.requests).toHaveLength(chats * messages);
  const marked = ids.flatMap((id) => chatOf(world, id)).filter((text) => text.startsWith('↻ ')).length;
  return { faults: storm.faults(), recoveredMs, marked };
}

/** Whether the sender learns what became of its message. A page of HTML does not know, and what is late is cut by the storm's end. */
function isTold(fault: TelegramFault): boolean {
  return typeof fault === 'object' && 'status' in fault && fault.body !== 'html';
}

function startStorm(
  world: World,
  { sendFaults, pollFaults, share }: StormOptions,
  random: () => number,
): { readonly end: () => void; readonly faults: () => number } {
  let count = 0;
  const pick = (faults: readonly TelegramFault[]): TelegramFault | undefined => {
    if (random() >= share) return undefined;
    count += 1;
    return faults[Math.floor(random() * faults.length)];
  };
  const unknown = new Set<string>();
  world.telegram.setFaultHandler(({ method, payload }) => {
    if (method === 'getUpdates') return pick(pollFaults);
    if (method !== 'sendMessage') return undefined;
    const fault = pick(sendFaults);
    if (fault === undefined || isTold(fault)) return fault;
    // What stays unknown twice is given up, and its chat is told: a promise of its own, which delivery.test.ts holds.
    const message = `${String(payload['chat_id'])} ${String(payload['text']).replace(/^↻ /u, '')}`;
    if (unknown.has(message)) return { status: 500 };
    unknown.add(message);
    return fault;
  });
  world.telegram.orderBatches(random);
  return {
    end: () => {
      world.telegram.setFaultHandler(undefined);
      world.telegram.cutAll();
    },
    faults: () => count,
  };
}
