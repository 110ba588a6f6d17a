import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Budget } from '../../agent/context/budget.ts';
import type { CallBounds } from '../../agent/context/call-bounds.ts';
import {
  heartbeatCall,
  heartbeatQuestions,
  type HeartbeatQuestions,
} from '../../agent/side-calls/heartbeat-questions.ts';
import type { PeoplePorts } from '../../agent/ports.ts';
import { outboundTo } from '../../agent/outgoing.ts';
import { SideCalls } from '../../agent/side-calls/side-calls.ts';
import { ToolChoices } from '../../agent/side-calls/structured.ts';
import type { Heartbeat } from '../../automation/heartbeat.ts';
import type { HeartbeatTarget } from '../../automation/heartbeat-message.ts';
import type { MessageBus } from '../../bus/bus.ts';
import { parseChat, sessionKeyOf } from '../../bus/messages.ts';
import { errorMessage } from '../../util/errors.ts';
import { oneLine } from '../../util/text.ts';
import { roleNow } from './automation.ts';
import type { Base } from '../base.ts';
import { withoutSecrets } from '../agent/clean-model.ts';
import type { Models } from '../agent/models.ts';
import type { Stores } from '../storage/stores.ts';

export interface HeartbeatParts {
  readonly stores: Pick<Stores, 'journal' | 'origins'>;
  readonly bus: MessageBus;
  readonly models: Pick<Models, 'resolve'>;
  readonly bounds: Pick<CallBounds, 'warm'>;
  readonly budget: Budget;
  /** Names of the channels that are connected. */
  readonly channels: () => readonly string[];
  /** The person's time zone. */
  readonly zone: () => string;
  /** Aborts when the process ends. */
  readonly closing: AbortSignal;
}

/** Looking after open tasks, joined with what it reaches; loaded when it starts. */
export interface HeartbeatService extends AsyncDisposable {
  readonly holdBack: PeoplePorts['holdBack'];
  /** One line for /status; null where it is switched off. */
  readonly state: () => string | null;
  /** Never throws. */
  start(): Promise<void>;
}

/** Turns in a row that fail before the owner hears of it. */
const TELL_FAILED_AFTER = 3;
const LONGEST_VERDICT = 400;

export function createHeartbeat(base: Base, parts: HeartbeatParts): HeartbeatService {
  const { config, log, redact, clock } = base;
  const { stores, models, bounds, budget, closing } = parts;
  const { journal } = stores;
  const ending = new AbortController();
  const common = {
    calls: new SideCalls({ budget, prepare: (name) => bounds.warm(name), source: 'heartbeat' }),
    choices: new ToolChoices(),
    clock,
    model: () => withoutSecrets(models.resolve(config.heartbeat.model ?? journal.settings.model('heartbeat')), redact),
  };
  const { judge } = heartbeatQuestions({ ...common, signal: closing });
  const { look } = heartbeatQuestions({ ...common, signal: AbortSignal.any([closing, ending.signal]) });
  const budgetLeft = async (at: number): Promise<boolean> => (await common.calls.refusal(heartbeatCall(at))) === null;
  let heart: Heartbeat | undefined;
  return {
    holdBack: ({ messages }, end) => holdBack({ messages, end, judge, journal }),
    state: () => (heart === undefined ? null : stateOf(heart)),
    start: async () => {
      if (!config.heartbeat.enabled || !base.serving) return;
      try {
        heart = await openHeart(base, parts, { look, budgetLeft });
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
  base: Base,
  parts: HeartbeatParts,
  { look, budgetLeft }: Pick<HeartbeatQuestions, 'look'> & { readonly budgetLeft: (at: number) => Promise<boolean> },
): Promise<Heartbeat> {
  const { config, paths, clock, log, newId, redact } = base;
  const { stores, bus, zone } = parts;
  const { journal, origins } = stores;
  const { Heartbeat } = await import('../../automation/heartbeat.ts');
  const path = join(paths.workspace, 'HEARTBEAT.md');
  const target = (): HeartbeatTarget | null => targetOf(base, parts);
  return new Heartbeat({
    path,
    looks: journal.heartbeats,
    clock,
    log,
    newId,
    get settings() {
      return config.heartbeat;
    },
    zone,
    gates: {
      target,
      busy: (sessions) => journal.turns.isBusy(sessions),
      budgetLeft,
      fromStrangers: async (text) => {
        const stat = statSync(path, { throwIfNoEntry: false });
        return stat === undefined || (await origins.holds({ path, bytes: Buffer.from(text), stat }));
      },
    },
    ask: look,
    tellOwner: async (id, text) => {
      const chat = journal.questions.ownersChat(parts.channels()) ?? journal.questions.ownersChat();
      if (chat === undefined) return;
      await bus.publishOutbound(outboundTo(chat, { id, kind: 'notice', text: redact(text) }, clock.now()));
    },
  });
}

/** The owner's most recent direct chat on a connected channel, or the configured one; null: there is none. */
function targetOf(base: Base, { stores, channels }: HeartbeatParts): HeartbeatTarget | null {
  const { target } = base.config.heartbeat;
  const { questions } = stores.journal;
  const connected = channels();
  if (target === 'owner') {
    const words = questions.ownersChat(connected);
    if (words === undefined) return null;
    const { channel, account, chatId, threadId, chatType, sender, sessionKey } = words;
    const who = { channel, id: sender.id, chatType, chat: chatId };
    if (roleNow(base, stores, who, 'owner') !== 'owner') return null;
    return { channel, account, chatId, ...(threadId === undefined ? {} : { threadId }), chatType, sender, sessionKey };
  }
  const address = parseChat(target);
  if (address === undefined || !connected.includes(address.channel)) return null;
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

type HoldBack = PeoplePorts['holdBack'];

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
  readonly journal: Stores['journal'];
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
