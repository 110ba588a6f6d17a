import { subagentOf } from '../agent/subagents/task.ts';
import type { EndedTask, WhyFacts, WhyStory } from '../agent/why/facts.ts';
import { neighbourCalls, promptChange } from '../agent/why/prompt-change.ts';
import { storyOf } from '../agent/why/story.ts';
import { ONLY_TO, type InboundMessage, type ReplyReference } from '../bus/messages.ts';
import type { App } from '../app.ts';
import type { MessageLife, SentLife } from '../journal/lives.ts';
import type { TapeEntry } from '../session/entry.ts';
import { hasTape, readTape } from '../session/reader.ts';
import { assistantCommand } from '../util/assistant-command.ts';

/** What a story is about, and what is known beside the stores. */
interface Asked extends Partial<Pick<WhyFacts, 'sent' | 'wasReceived' | 'passedOver' | 'unknownAt' | 'channelThen'>> {
  readonly message: MessageLife | undefined;
  readonly turn: string | null;
  readonly session?: string;
  readonly channel?: string;
  readonly chatType?: 'direct' | 'group';
}

const SECOND_MS = 1_000;
/** Entries before a turn among which the model call before it is looked for. */
const MOST_BEFORE = 100;
/** Platform ids of messages have this in front of them. */
const OF_A_MESSAGE = /^m:/u;

/** Finds out what became of messages and turns. */
export class Why {
  readonly #app: App;

  constructor(app: App) {
    this.#app = app;
  }

  /**
   * The story of the message that this one replies to, else of the newest message of its conversation. Undefined: it is not
   * for the asker, who is no owner and did not write it.
   */
  async askedIn(message: InboundMessage): Promise<WhyStory | undefined> {
    const { lives } = this.#app.journal;
    const { replyTo, role, sender } = message;
    const isOwner = role === 'owner';
    // In a group everybody reads the reply, but for one that is shown to the asker alone.
    const seesAll = isOwner && (message.chatType === 'direct' || typeof message.metadata[ONLY_TO] === 'string');
    const [newest] = replyTo === undefined ? lives.newest(message.sessionKey, 1) : [];
    const own = replyTo === undefined ? lives.sentByItself(message, newest?.receivedAt ?? 0) : undefined;
    if (own !== undefined) return isOwner ? await this.#ofOwn(message, own, seesAll) : undefined;
    const found = replyTo === undefined ? newest : lives.messageAt(message, replyTo.externalId);
    const byReply = replyTo === undefined || found !== undefined ? undefined : this.#repliedTo(message, replyTo);
    const turn = found?.turn ?? byReply?.turn ?? null;
    const about = found ?? (turn === null ? undefined : lives.messagesOf(turn)[0]);
    if (!isOwner && (about === undefined ? turn !== null : about.sender !== sender.id)) return undefined;
    const { sessionKey: session, channel, chatType } = message;
    return await this.#story({ message: about, turn, session, channel, chatType, ...byReply?.known }, seesAll);
  }

  /** The story of what the assistant sent by itself. */
  async #ofOwn(message: InboundMessage, sent: SentLife, seesAll: boolean): Promise<WhyStory> {
    const { channel, chatType, sessionKey: session } = message;
    return await this.#story({ message: undefined, turn: sent.turn, session, channel, chatType, sent }, seesAll);
  }

  /** What is known of a message with a reply where no message with its id was received. */
  #repliedTo(
    message: InboundMessage,
    { externalId, author, sentAt: unknownAt }: ReplyReference,
  ): { readonly turn: string | null; readonly known: Partial<Asked> } {
    const { lives, around, channelLog } = this.#app.journal;
    const sent = lives.sentAs(message, externalId.replace(OF_A_MESSAGE, ''));
    if (sent !== undefined) return { turn: sent.turn, known: { sent } };
    if (author === 'assistant') return { turn: null, known: { sent: { kind: 'notice', text: '', from: null } } };
    const { channel, account, chatId } = message;
    const known = {
      wasReceived: around.wasReceived({ channel, account, chat: chatId, externalId }),
      passedOver: channelLog.passedOver({ channel, account, chatId, externalId }),
      unknownAt,
      channelThen: unknownAt === undefined ? undefined : channelLog.at(channel, unknownAt),
    };
    return { turn: null, known };
  }

  /** For an owner: the story of a message, a turn or the newest message of a conversation, by its id; undefined: it is unknown. */
  async find(id: string): Promise<WhyStory | undefined> {
    const { lives } = this.#app.journal;
    const [plain = id] = id.split(/(?<=^[0-9A-Z]{26}):/u);
    const message = lives.message(plain) ?? lives.newest(id, 1)[0];
    const turn = lives.turn(plain);
    if (message === undefined && turn === undefined) return this.#strangers(id);
    return await this.#story({ message, turn: turn?.id ?? message?.turn ?? null }, true);
  }

  /** The story of a person who is not let in, by their conversation; undefined: nobody waits there. */
  #strangers(session: string): WhyStory | undefined {
    const asks = this.#app.journal.pairing.pending().find(({ channel, id }) => `${channel}:${id}` === session);
    if (asks === undefined) return undefined;
    const cause = `I did not take what they wrote: nobody has let them in. They were sent a code; to let them in, run: ${assistantCommand(`pair approve ${asks.code}`)}`;
    return {
      subject: asks.name ?? session,
      cause,
      turn: null,
      session,
      at: this.#app.clock.now(),
      steps: [],
      cost: null,
    };
  }

  /** For an owner: the stories of the messages since a time (milliseconds since 1970), newest first, at most `limit`. */
  async since(time: number, limit: number): Promise<readonly WhyStory[]> {
    const stories: WhyStory[] = [];
    for (const message of this.#app.journal.lives.since(time).slice(0, limit)) {
      stories.push(await this.#story({ message, turn: message.turn }, true));
    }
    return stories;
  }

  async #story(asked: Asked, seesAll: boolean): Promise<WhyStory> {
    const { journal, paths, promptParts, clock, channels, redact, startedAt } = this.#app;
    const { lives, around } = journal;
    const turn = asked.turn === null ? undefined : lives.turn(asked.turn);
    const received = asked.turn === null ? [] : lives.messagesOf(asked.turn);
    const message = asked.message ?? received[0];
    const session = turn?.session ?? message?.session ?? asked.session ?? '';
    const busyWith = lives.running(session);
    const channel = channels.manager.health()[asked.channel ?? message?.channel ?? ''];
    const near = turn === undefined ? [] : await entriesAround(paths.sessions, turn);
    const clockLag = message === undefined ? 0 : around.clockLag(message);
    const facts: WhyFacts = {
      message,
      others: received.filter(({ id }) => id !== message?.id),
      edits: message === undefined ? [] : around.edits(message),
      wasReceived: asked.wasReceived ?? false,
      passedOver: asked.passedOver,
      unknownAt: asked.unknownAt,
      channelThen: asked.channelThen ?? this.#channelThen(message, clockLag),
      sent: asked.sent ?? null,
      turn,
      busyWith: busyWith?.id === turn?.id ? undefined : busyWith,
      before: turn === undefined ? undefined : around.turnBefore(turn),
      retried: turn === undefined ? null : await this.#retried(near, turn),
      cameDuring: turn?.outcome === 'stopped' ? around.cameDuring(turn) : [],
      entries: turn === undefined ? [] : ofTurn(near, turn.id),
      wasSummarized: near.some(({ kind, turn: of }) => kind === 'anchor' && of !== turn?.id),
      tasks: turn === undefined ? [] : await this.#tasks(turn.id),
      promptChange: await promptChange(neighbourCalls(near, turn?.id ?? ''), (hash) => promptParts.read(hash)),
      replies: turn === undefined ? [] : lives.replies(turn.id),
      questions: turn === undefined ? [] : lives.questions(turn.id),
      cost: turn === undefined ? null : lives.cost(turn),
      chatType: asked.chatType ?? null,
      channel: channel === undefined ? undefined : { name: asked.channel ?? message?.channel ?? '', ...channel },
      waitsFor: this.#waitsFor(session, turn?.id ?? null),
      clockLag,
      outages: around.outages(),
      upSince: startedAt,
      now: clock.now(),
    };
    const story = storyOf(facts, { seesAll });
    return {
      ...story,
      subject: redact(story.subject),
      cause: redact(story.cause),
      steps: story.steps.map(({ at, what }) => ({ at, what: redact(what) })),
    };
  }

  /** What a turn waits for, or the messages of a session that has none; null: nothing is known. */
  #waitsFor(session: string, turn: string | null): WhyFacts['waitsFor'] {
    if (turn === null) return this.#app.loop.waitsFor(session);
    return this.#app.slots.isWaiting(turn) ? 'place' : null;
  }

  /** What the channel of a message was when it was sent; undefined: not known. */
  #channelThen(message: MessageLife | undefined, clockLag: number): WhyFacts['channelThen'] {
    const sentAt = message?.metadata['sentAt'];
    if (message === undefined || typeof sentAt !== 'number') return undefined;
    // Some platforms tell the second only.
    return this.#app.journal.channelLog.at(message.channel, sentAt + clockLag + SECOND_MS - 1);
  }

  /** Why the turn that /retry took back before this one gave no answer; null: there is none. */
  async #retried(near: readonly TapeEntry[], turn: TurnPlace): Promise<string | null> {
    const back = near.findLast((entry) => entry.kind === 'retract' && entry.turns.length > 0);
    const [of] = back?.kind === 'retract' && (back.turn === null || back.turn === turn.id) ? back.turns : [];
    if (of === undefined) return null;
    const entries = await entriesOfTurn(this.#app.paths.sessions, { id: of, session: turn.session });
    const end = entries.findLast((entry) => entry.kind === 'turn-end');
    return end?.kind === 'turn-end' && end.outcome === 'failed' ? end.answer : 'it had another answer.';
  }

  async #tasks(turn: string): Promise<readonly EndedTask[]> {
    const { paths, journal } = this.#app;
    const tasks = journal.subagents.ofTurn(turn).flatMap(({ turnId, message }) => {
      const task = subagentOf(message);
      // What the turn waited for is a result of its own call.
      return task === null || task.wait ? [] : [{ id: turnId, session: message.sessionKey, label: task.label }];
    });
    return await Promise.all(
      tasks.map(async ({ label, ...place }) => {
        const end = (await entriesOfTurn(paths.sessions, place)).findLast((entry) => entry.kind === 'turn-end');
        return end?.kind === 'turn-end'
          ? { label, outcome: end.outcome, answer: end.answer }
          : { label, outcome: 'running', answer: '' };
      }),
    );
  }
}

/** The entries of a turn and how the history was shortened for its calls, which is an entry of no turn. */
function ofTurn(near: readonly TapeEntry[], id: string): readonly TapeEntry[] {
  const first = near.findIndex(({ turn }) => turn === id);
  return near.filter(
    ({ turn, kind }, at) => turn === id || (kind === 'trim' && turn === null && at > first && first >= 0),
  );
}

/** The entries of a turn, oldest first; none: its conversation was deleted, or its tape was not written yet. */
export async function entriesOfTurn(folder: string, turn: TurnPlace): Promise<readonly TapeEntry[]> {
  return (await entriesAround(folder, turn)).filter((entry) => entry.turn === turn.id);
}

interface TurnPlace {
  readonly id: string;
  readonly session: string;
}

/** The entries of a turn and those before it up to a model call, oldest first. */
async function entriesAround(folder: string, { id, session }: TurnPlace): Promise<readonly TapeEntry[]> {
  if (!(await hasTape(folder, session))) return [];
  const newestFirst: TapeEntry[] = [];
  let older = Infinity;
  for await (const entry of readTape(folder, session)) {
    if (older === 0) break;
    if (entry.turn === id || older < Infinity || (entry.kind === 'trim' && newestFirst.length > 0))
      newestFirst.push(entry);
    if (entry.turn === id && entry.kind === 'turn-start') older = MOST_BEFORE;
    else if (entry.kind === 'note' && older < Infinity) older = 0;
    else older -= 1;
  }
  return newestFirst.reverse();
}
