import { join } from 'node:path';
import { oneLine, parseChat, sessionKeyOf, type App, type Contributions } from '../../core/api.ts';
import { outboundTo, SideCalls } from '../../core/api-turns.ts';
import type { Heartbeat } from './heartbeat.ts';
import { Looks } from './looks.ts';
import type { HeartbeatTarget } from './message.ts';
import { heartbeatCall, heartbeatQuestions, type HeartbeatQuestions } from './questions.ts';
import { heartbeat as settings } from './settings.ts';
import { heartbeatStory, stepOf } from './why.ts';

/** Turns in a row that fail before the owner hears of it. */
const TELL_FAILED_AFTER = 3;
const LONGEST_VERDICT = 400;

/** Looking after open tasks, joined with what it reaches; its loop is loaded when it starts. */
export function openHeartbeat(app: App): Contributions {
  const { closing } = app;
  const ending = new AbortController();
  const calls = new SideCalls(app, 'heartbeat');
  const { judge } = heartbeatQuestions(app, calls, closing);
  const { look } = heartbeatQuestions(app, calls, AbortSignal.any([closing, ending.signal]));
  const budgetLeft = async (at: number): Promise<boolean> => (await calls.refusal(heartbeatCall(at))) === null;
  const looks = new Looks(app.journal);
  const isEnabled = (): boolean => app.settingsOf(settings).enabled && !app.safe;
  let heart: Heartbeat | undefined;
  return {
    turns: {
      heartbeat: {
        holdBack: ({ messages }, end) => holdBack({ messages, end, judge, looks }),
        wasHeldBack: (_turnId, messageId) => looks.ofMessage(messageId)?.notified === false,
      },
    },
    status: (session): Readonly<Record<string, string>> =>
      session !== null || heart === undefined ? {} : { Heartbeat: stateOf(heart) },
    why: {
      find: async (about, count) => {
        if (about !== 'heartbeat') return undefined;
        const newest = looks.newest(count);
        const state = heart === undefined ? 'it does not run here' : stateOf(heart);
        const facts = { looks: newest, state: isEnabled() ? state : null };
        return { turn: null, story: () => heartbeatStory(facts, { now: app.clock.now() }), steps: newest.map(stepOf) };
      },
      newest: async (count) => looks.newest(count).map(stepOf),
    },
    start: async () => {
      if (!isEnabled() || !app.serving) return;
      heart = await openHeart(app, { look, budgetLeft });
      await heart.start();
    },
    stop: async () => {
      ending.abort(new Error('the process is stopping'));
      await heart?.stop();
    },
  };
}

async function openHeart(
  app: App,
  { look, budgetLeft }: Pick<HeartbeatQuestions, 'look'> & { readonly budgetLeft: (at: number) => Promise<boolean> },
): Promise<Heartbeat> {
  const { paths, clock, bus, marks, people } = app;
  const { Heartbeat } = await import('./heartbeat.ts');
  const path = join(paths.workspace, 'HEARTBEAT.md');
  return new Heartbeat(app, {
    target: () => targetOf(app),
    budgetLeft,
    fromStrangers: async () => await marks.isUntrusted([marks.realOf(path)], 'owner'),
    look,
    tellOwner: async (id, text) => {
      const chat = people.ownersChat(connected(app)) ?? people.ownersChat();
      if (chat !== undefined) await bus.publishOutbound(outboundTo(chat, { id, kind: 'notice', text }, clock.now()));
    },
  });
}

/** Names of the channels that are connected. */
function connected({ channels }: App): readonly string[] {
  return Object.keys(channels.manager.health()).filter((name) => channels.isOpen(name));
}

/** The owner's most recent direct chat on a connected channel, or the configured one; null: there is none. */
function targetOf(app: App): HeartbeatTarget | null {
  const { target } = app.settingsOf(settings);
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

type HoldBack = NonNullable<Contributions['turns']>[string]['holdBack'];

/** Decided once for each heartbeat, also across restarts. */
async function holdBack({
  messages,
  end,
  judge,
  looks,
}: {
  readonly messages: Parameters<HoldBack>[0]['messages'];
  readonly end: Parameters<HoldBack>[1];
  readonly judge: HeartbeatQuestions['judge'];
  readonly looks: Looks;
}): Promise<boolean> {
  const id = messages.at(-1)?.id ?? '';
  const look = looks.ofMessage(id);
  if (look === undefined) return false;
  if (look.notified !== null) return !look.notified;
  const { answer, outcome } = end;
  let verdict: { readonly tell: boolean; readonly reason: string };
  if (outcome === 'failed') {
    // This one is not closed yet.
    const count = looks.failedTurns() + 1;
    verdict = { tell: count === TELL_FAILED_AFTER, reason: `it failed: ${answer}` };
  } else if (answer.trim() === '') {
    verdict = { tell: false, reason: 'it had nothing to report' };
  } else {
    verdict = await judge({ at: look.at, tasks: look.reason, result: answer });
  }
  await looks.judge(look.at, verdict.tell, oneLine(verdict.reason, LONGEST_VERDICT));
  return looks.ofMessage(id)?.notified === false;
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
