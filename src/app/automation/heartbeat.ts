import { statSync } from 'node:fs';
import { join } from 'node:path';
import {
  heartbeatCall,
  heartbeatQuestions,
  type HeartbeatQuestions,
} from '../../agent/side-calls/heartbeat-questions.ts';
import { outboundTo } from '../../agent/outgoing.ts';
import { SideCalls } from '../../agent/side-calls/side-calls.ts';
import type { TurnFacts } from '../../agent/hooks/hooks.ts';
import type { EntryOf } from '../../session/entry.ts';
import type { Heartbeat } from '../../automation/heartbeat.ts';
import type { HeartbeatTarget } from '../../automation/heartbeat-message.ts';
import type { App } from '../../core/app.ts';
import { parseChat, sessionKeyOf } from '../../bus/messages.ts';
import { errorMessage } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';

/** Looking after open tasks, joined with what it reaches; loaded when it starts. */
export interface HeartbeatService extends AsyncDisposable {
  /** Whether the answer of a turn of the heartbeat is not sent. */
  readonly holdBack: (facts: TurnFacts, end: EntryOf<'turn-end'>) => Promise<boolean>;
  /** One line for /status; null where it is switched off. */
  readonly state: () => string | null;
  /** Never throws. */
  start(): Promise<void>;
}

/** Turns in a row that fail before the owner hears of it. */
const TELL_FAILED_AFTER = 3;
const LONGEST_VERDICT = 400;

export function createHeartbeat(app: App): HeartbeatService {
  const { config, log, journal, closing } = app;
  const ending = new AbortController();
  const calls = new SideCalls(app, 'heartbeat');
  const { judge } = heartbeatQuestions(app, calls, closing);
  const { look } = heartbeatQuestions(app, calls, AbortSignal.any([closing, ending.signal]));
  const budgetLeft = async (at: number): Promise<boolean> => (await calls.refusal(heartbeatCall(at))) === null;
  let heart: Heartbeat | undefined;
  return {
    holdBack: ({ messages }, end) => holdBack({ messages, end, judge, journal }),
    state: () => (heart === undefined ? null : stateOf(heart)),
    start: async () => {
      if (!config.heartbeat.enabled || !app.serving) return;
      try {
        heart = await openHeart(app, { look, budgetLeft });
        await heart.start();
      } catch (error) {
        log.error('heartbeat: failed', { reason: errorMessage(error) });
      }
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort(new Error('the process is stopping'));
      await heart?.stop();
    },
  };
}

async function openHeart(
  app: App,
  { look, budgetLeft }: Pick<HeartbeatQuestions, 'look'> & { readonly budgetLeft: (at: number) => Promise<boolean> },
): Promise<Heartbeat> {
  const { paths, clock, redact, bus, origins, people } = app;
  const { Heartbeat } = await import('../../automation/heartbeat.ts');
  const path = join(paths.workspace, 'HEARTBEAT.md');
  return new Heartbeat(app, {
    target: () => targetOf(app),
    budgetLeft,
    fromStrangers: async (text) => {
      const stat = statSync(path, { throwIfNoEntry: false });
      return stat === undefined || (await origins.holds({ path, bytes: Buffer.from(text), stat }));
    },
    look,
    tellOwner: async (id, text) => {
      const chat = people.ownersChat(connected(app)) ?? people.ownersChat();
      if (chat === undefined) return;
      await bus.publishOutbound(outboundTo(chat, { id, kind: 'notice', text: redact(text) }, clock.now()));
    },
  });
}

/** Names of the channels that are connected. */
function connected({ channels }: App): readonly string[] {
  return Object.keys(channels.manager.health()).filter((name) => channels.isOpen(name));
}

/** The owner's most recent direct chat on a connected channel, or the configured one; null: there is none. */
function targetOf(app: App): HeartbeatTarget | null {
  const { target } = app.config.heartbeat;
  const { questions } = app.journal;
  const channels = connected(app);
  if (target === 'owner') {
    const words = questions.ownersChat(channels);
    if (words === undefined) return null;
    const { channel, account, chatId, threadId, chatType, sender, sessionKey } = words;
    const who = { channel, id: sender.id, chatType, chat: chatId };
    if (app.people.roleNow(who, 'owner') !== 'owner') return null;
    return { channel, account, chatId, ...(threadId === undefined ? {} : { threadId }), chatType, sender, sessionKey };
  }
  const address = parseChat(target);
  if (address === undefined || !channels.includes(address.channel)) return null;
  const words = questions.ownersWords(address.channel, address.chatId);
  return {
    ...address,
    account: words?.account ?? 'heartbeat',
    // Of a chat in which the owner never wrote nothing is known, so it counts as one in which others read along.
    chatType: words?.chatType ?? 'group',
    sender: words?.sender ?? { id: 'owner', isBot: false },
    sessionKey: sessionKeyOf(address),
  };
}

type HoldBack = HeartbeatService['holdBack'];

/** Decided once for each heartbeat, also across restarts. */
async function holdBack({
  messages,
  end,
  judge,
  journal,
}: {
  readonly messages: Parameters<HoldBack>[0]['messages'];
  readonly end: Parameters<HoldBack>[1];
  readonly judge: HeartbeatQuestions['judge'];
  readonly journal: App['journal'];
}): Promise<boolean> {
  const { heartbeats } = journal;
  const id = messages.at(-1)?.id ?? '';
  const look = heartbeats.ofMessage(id);
  if (look === undefined) return false;
  if (look.notified !== null) return !look.notified;
  const { answer, outcome } = end;
  let verdict: { readonly tell: boolean; readonly reason: string };
  if (outcome === 'failed') {
    // This one is not closed yet.
    const count = heartbeats.failedTurns() + 1;
    verdict = { tell: count === TELL_FAILED_AFTER, reason: `it failed: ${answer}` };
  } else if (answer.trim() === '') {
    verdict = { tell: false, reason: 'it had nothing to report' };
  } else {
    verdict = await judge({ at: look.at, tasks: look.reason, result: answer });
  }
  await heartbeats.judge(look.at, verdict.tell, oneLine(verdict.reason, LONGEST_VERDICT));
  return heartbeats.ofMessage(id)?.notified === false;
}

function stateOf({ paused, closed }: Heartbeat): string {
  if (paused) return 'paused, its model was refused';
  switch (closed) {
    case 'hours':
      return 'outside its hours';
    case 'nothing-open':
      return 'nothing is open';
    case 'no-target':
      return 'no chat to write to';
    case 'busy':
      return 'waits for a conversation to end';
    case 'budget':
      return 'no budget is left today';
    case 'resting':
    case null:
      return 'on';
  }
}
