import type { MessageBus } from '../../bus/bus.ts';
import { followed, startedTurn, type LiveSegment, type LiveTurn } from '../../bus/live-turn.ts';
import type { OutboundEvent } from '../../bus/messages.ts';
import type { Clock } from '../../util/clock.ts';
import type { HistoryItem, LiveEvent, Row, ServerFrame, TurnEnd, WaitingQuestion } from '../http/wire.ts';

/** Who missed more messages than this fetches anew what is shown. */
const MOST_MISSED = 500;
const PAGE = 100;
/** Running turns that are remembered; the oldest are forgotten. */
const MOST_TURNS = 200;
/** A snapshot has the diffs and the reasoning of this many newest segments of a turn. */
const WHOLE_SEGMENTS = 50;
/** How often is looked for what changes without an event, while someone watches. */
const LOOK_MS = 5_000;
const SOON_MS = 50;

export interface Place {
  readonly inbound: number;
  readonly outbound: number;
}

export interface FeedOptions {
  /** The durable messages, in the order in which they were written. */
  readonly journal: {
    newest(): Place;
    /** At most `limit` of each direction, and the place after them. */
    after(place: Place, limit: number): { readonly rows: readonly Row[]; readonly cursor: Place };
    onQueued(listener: () => void): Disposable;
  };
  readonly bus: Pick<MessageBus, 'listen'>;
  /** Turns of an earlier process that this one continues; asked for once. */
  readonly continued: () => readonly Pick<LiveTurn, 'session' | 'turn'>[];
  /** What an ended turn left in the history of its session; undefined: it has to be fetched. */
  readonly left: (end: TurnEnd) => Promise<readonly HistoryItem[] | undefined>;
  readonly questions: () => readonly WaitingQuestion[];
  /** What tools of extensions may change. */
  readonly ownChanges: readonly string[];
  /** Changes when something about the health does. */
  readonly health: () => string;
  /** The session that messages to the chat `main` of the page belong to. */
  readonly main: () => string;
  readonly clock: Clock;
  readonly version: string;
  readonly startedAt: number;
}

/** Someone who watches. */
export interface Watcher {
  frame(frame: ServerFrame): void;
  live(event: LiveEvent): void;
}

/** What happens in the assistant, for those who watch: durable messages after their cursor, then what is going on. */
export class Feed implements Disposable {
  readonly #options: FeedOptions;
  readonly #running = new Map<string, LiveTurn>();
  readonly #watchers = new Set<Watcher>();
  readonly #listening: Disposable;
  /** While someone watches. */
  #open: DisposableStack | undefined;
  /** Everything before was sent to all who watch. */
  #head: Place = { inbound: 0, outbound: 0 };
  #questions = '';
  #health = '';
  #soon: Disposable | undefined;
  /** Tells the ends of turns in order. */
  #ends: Promise<void> = Promise.resolve();

  constructor(options: FeedOptions) {
    this.#options = options;
    const since = options.clock.now();
    for (const turn of options.continued()) this.#running.set(turn.turn, { ...startedTurn(turn, since), since });
    this.#listening = options.bus.listen((event) => this.#happened(event));
  }

  /** Sends what was missed since `cursor`, then what is going on, and from then on everything. Null: nothing was missed. */
  watch(cursor: string | null, watcher: Watcher): Disposable {
    if (this.#open === undefined) this.#begin();
    else this.#pump();
    const { version, startedAt, main } = this.#options;
    watcher.frame({ type: 'hello', version, cursor: cursor ?? cursorOf(this.#head), startedAt, main: main() });
    if (cursor !== null) this.#catchUp(placeOf(cursor), watcher);
    watcher.frame({ type: 'turns', turns: Array.from(this.#running.values(), inSnapshot) });
    watcher.frame({ type: 'questions', questions: this.#options.questions() });
    this.#watchers.add(watcher);
    return {
      [Symbol.dispose]: () => {
        this.#watchers.delete(watcher);
        if (this.#watchers.size === 0) this.#end();
      },
    };
  }

  /** Says that something may be different now. */
  changed(...what: readonly string[]): void {
    for (const one of what) this.#all({ type: 'changed', what: one });
  }

  /** Looks soon whether other questions wait. */
  lookSoon(): void {
    if (this.#open === undefined) return;
    this.#soon ??= this.#options.clock.timer(SOON_MS, () => this.#look());
  }

  [Symbol.dispose](): void {
    this.#listening[Symbol.dispose]();
    this.#end();
  }

  #begin(): void {
    const { journal, clock, health, questions } = this.#options;
    const open = new DisposableStack();
    this.#open = open;
    this.#head = journal.newest();
    this.#health = health();
    this.#questions = JSON.stringify(questions());
    open.use(journal.onQueued(() => this.#pump()));
    let timer: Disposable;
    const again = (): void => {
      timer = clock.timer(LOOK_MS, () => {
        this.#look();
        again();
      });
    };
    again();
    open.defer(() => timer[Symbol.dispose]());
  }

  #end(): void {
    this.#soon?.[Symbol.dispose]();
    this.#soon = undefined;
    this.#open?.dispose();
    this.#open = undefined;
  }

  /** Sends new messages to all who watch. */
  #pump(): void {
    for (;;) {
      const { rows, cursor } = this.#options.journal.after(this.#head, PAGE);
      if (cursor.inbound === this.#head.inbound && cursor.outbound === this.#head.outbound) return;
      this.#head = cursor;
      if (rows.length > 0) this.#all({ type: 'rows', cursor: cursorOf(cursor), rows });
      this.lookSoon();
    }
  }

  #catchUp(place: Place | null, watcher: Watcher): void {
    const head = this.#head;
    const missed = place === null ? -1 : head.inbound - place.inbound + head.outbound - place.outbound;
    // A place beyond the newest is one of another journal, as after a backup was restored.
    const isAhead = place === null || place.inbound > head.inbound || place.outbound > head.outbound;
    if (place === null || isAhead || missed > MOST_MISSED) {
      watcher.frame({ type: 'gap', cursor: cursorOf(head) });
      return;
    }
    for (let at = place; ;) {
      const { rows, cursor } = this.#options.journal.after(at, PAGE);
      if (cursor.inbound === at.inbound && cursor.outbound === at.outbound) return;
      at = cursor;
      watcher.frame({ type: 'rows', cursor: cursorOf(cursor), rows });
    }
  }

  #happened(event: OutboundEvent): void {
    if (event.type !== 'turn-end' || this.#open === undefined) this.#tell(event);
    else this.#ends = this.#ends.then(() => this.#ended(event));
  }

  /** Until what it left is read, a turn counts as running, so that who connects meanwhile is told of its end. */
  async #ended(event: TurnEnd): Promise<void> {
    const items = await this.#options.left(event);
    this.#tell({ ...event, ...(items === undefined ? {} : { items }) });
  }

  #tell(event: LiveEvent): void {
    this.#follow(event);
    if (this.#open === undefined) return;
    for (const watcher of this.#watchers) watcher.live(event);
    if (event.type === 'tool-end') this.changed('memory', 'files', 'skills', ...this.#options.ownChanges);
    if (event.type === 'turn-end') this.changed('sessions', 'usage');
    if (event.type === 'tool-start' || event.type === 'tool-end' || event.type === 'turn-end') this.lookSoon();
  }

  #follow(event: OutboundEvent): void {
    const { turnId } = event;
    if (event.type === 'turn-end') this.#running.delete(turnId);
    else this.#running.set(turnId, followed(this.#running.get(turnId), event, this.#options.clock.now()));
    const [oldest] = this.#running.keys();
    if (this.#running.size > MOST_TURNS && oldest !== undefined) this.#running.delete(oldest);
  }

  #look(): void {
    this.#soon?.[Symbol.dispose]();
    this.#soon = undefined;
    const questions = this.#options.questions();
    const text = JSON.stringify(questions);
    if (text !== this.#questions) this.#all({ type: 'questions', questions });
    this.#questions = text;
    const health = this.#options.health();
    if (health !== this.#health) this.changed('health');
    this.#health = health;
  }

  #all(frame: ServerFrame): void {
    for (const watcher of this.#watchers) watcher.frame(frame);
  }
}

/** A turn for those who connect in its middle. What makes a long turn large is left out of its older part. */
function inSnapshot(turn: LiveTurn): LiveTurn {
  const newest = turn.segments.length - WHOLE_SEGMENTS;
  const segments = turn.segments.flatMap((segment, at): readonly LiveSegment[] => {
    if (at >= newest) return [segment];
    if (segment.kind !== 'tool') return segment.kind === 'text' ? [segment] : [];
    const { diff: _, ...tool } = segment.tool;
    return [{ kind: segment.kind, tool }];
  });
  return { ...turn, segments };
}

function cursorOf({ inbound, outbound }: Place): string {
  return `${inbound}.${outbound}`;
}

/** Null: it is no cursor. */
function placeOf(cursor: string): Place | null {
  const match = /^(?<inbound>\d{1,15})\.(?<outbound>\d{1,15})$/u.exec(cursor)?.groups;
  return match === undefined ? null : { inbound: Number(match['inbound']), outbound: Number(match['outbound']) };
}
