/** What people and the bot wrote, as any client may fill it. */
export type MatrixContent = Readonly<Record<string, unknown>>;

export interface MatrixEvent {
  readonly event_id: string;
  readonly type: string;
  readonly sender: string;
  readonly room_id: string;
  readonly origin_server_ts: number;
  readonly content: MatrixContent;
  readonly state_key?: string;
  readonly unsigned?: MatrixContent;
}

interface Placed {
  /** Where it stands in the stream of the whole server. */
  readonly at: number;
  readonly event: MatrixEvent;
}

interface Room {
  readonly events: Placed[];
  /** Membership and name by id. */
  readonly members: Map<string, { readonly membership: string; readonly displayname: string | undefined }>;
}

/** Unique in this process, since several bots may share a configuration. */
let lastId = 0;

/** Rooms of one homeserver with one stream of events, as the client-server specification has them. */
export class MatrixRooms {
  readonly bot: string;
  readonly #rooms = new Map<string, Room>();
  readonly #waiting = new Set<() => void>();
  #last = 0;

  constructor(bot: string) {
    this.bot = bot;
  }

  /** The position after the newest event. */
  get last(): number {
    return this.#last;
  }

  newId(sign: '!' | '$' | '@' | ''): string {
    lastId += 1;
    return `${sign}${sign === '' ? '' : 'x'}${lastId.toString(36)}${sign === '$' ? '' : ':test'}`;
  }

  create(): string {
    const id = this.newId('!');
    this.#rooms.set(id, { events: [], members: new Map() });
    return id;
  }

  room(id: string): Room | undefined {
    return this.#rooms.get(id);
  }

  has(id: string, user: string, membership = 'join'): boolean {
    return this.#rooms.get(id)?.members.get(user)?.membership === membership;
  }

  /** Somebody is invited, joins, leaves or is banned; `by` says who did it. */
  member(
    roomId: string,
    user: string,
    membership: string,
    { by = user, name }: { by?: string; name?: string } = {},
  ): void {
    const room = this.#room(roomId);
    const before = room.members.get(user);
    const displayname = name ?? before?.displayname;
    room.members.set(user, { membership, displayname });
    const content = { membership, ...(displayname === undefined ? {} : { displayname }) };
    this.add(roomId, { type: 'm.room.member', sender: by, content, state_key: user });
  }

  add(roomId: string, event: Pick<MatrixEvent, 'type' | 'sender' | 'content' | 'state_key'>): MatrixEvent {
    const whole = { ...event, event_id: this.newId('$'), room_id: roomId, origin_server_ts: Date.now() };
    this.repeat(whole);
    return whole;
  }

  /** Puts an event into the stream, once more where it was there before. */
  repeat(event: MatrixEvent): void {
    this.#last += 1;
    this.#room(event.room_id).events.push({ at: this.#last, event });
    for (const wake of this.#waiting) wake();
  }

  /** With its newest edit, as servers bundle it. */
  event(roomId: string, id: string): MatrixEvent | undefined {
    const events = this.#rooms.get(roomId)?.events.map(({ event }) => event) ?? [];
    const found = events.find(({ event_id: one }) => one === id);
    if (found === undefined) return undefined;
    const edit = this.edits(roomId, id).at(-1);
    return edit === undefined ? found : { ...found, unsigned: { 'm.relations': { 'm.replace': edit } } };
  }

  /** What replaces an event, oldest first; only its sender can replace it. */
  edits(roomId: string, id: string): readonly MatrixEvent[] {
    const events = this.#rooms.get(roomId)?.events.map(({ event }) => event) ?? [];
    const sender = events.find(({ event_id: one }) => one === id)?.sender;
    return events.filter((event) => event.sender === sender && replaced(event) === id);
  }

  /** The part of the stream behind `since`; undefined: the newest of everything. */
  sync(since: number | undefined, { limit, types }: { limit: number; types: readonly string[] }): MatrixContent {
    const join: Record<string, unknown> = {};
    const invite: Record<string, unknown> = {};
    const leave: Record<string, unknown> = {};
    for (const [id, { events, members }] of this.#rooms) {
      const mine = members.get(this.bot)?.membership;
      const changed = events.findLast(({ event }) => event.state_key === this.bot)?.at ?? 0;
      const isNew = since === undefined || changed > since;
      const news = events.filter(({ at }) => isNew || at > since);
      if (news.length === 0) continue;
      if (mine === 'invite' && isNew) {
        invite[id] = {
          invite_state: {
            events: events
              .filter(({ event }) => event.state_key !== undefined)
              .map(({ event: { type, sender, content, state_key: key } }) => ({
                type,
                sender,
                content,
                state_key: key,
              })),
          },
        };
      } else if (mine === 'leave' || mine === 'ban') {
        if (isNew && since !== undefined) leave[id] = { timeline: { events: [], limited: false } };
      } else if (mine === 'join') {
        const shown = news.filter(({ event }) => types.includes(event.type));
        const timeline = shown.slice(-limit);
        const left = news.filter(
          ({ at, event }) => at < (timeline[0]?.at ?? Infinity) && event.state_key !== undefined,
        );
        if (shown.length === 0 && !isNew) continue;
        join[id] = {
          timeline: {
            events: timeline.map(({ event }) => event),
            limited: shown.length > limit,
            prev_batch: `t${timeline[0]?.at ?? this.#last}`,
          },
          state: { events: left.map(({ event }) => event) },
        };
      }
    }
    const rooms = { ...some('join', join), ...some('invite', invite), ...some('leave', leave) };
    return { next_batch: `s${this.#last}`, ...some('rooms', rooms) };
  }

  /** Events before a position and behind another, newest first. */
  before(roomId: string, from: number, to: number, limit: number): { chunk: readonly MatrixEvent[]; end?: string } {
    const found = (this.#rooms.get(roomId)?.events ?? []).filter(({ at }) => at < from && at > to).toReversed();
    const page = found.slice(0, limit);
    const chunk = page.map(({ event }) => this.event(roomId, event.event_id) ?? event);
    return { chunk, ...(found.length > limit ? { end: `t${page.at(-1)?.at ?? 0}` } : {}) };
  }

  /** Resolves when the stream moves on, or the signal aborts. */
  async moved(signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        resolve();
      };
      this.#waiting.add(done);
      if (signal.aborted) done();
      else signal.addEventListener('abort', done, { once: true });
    });
  }

  #room(id: string): Room {
    const room = this.#rooms.get(id);
    if (room === undefined) throw new Error(`there is no room ${id}`);
    return room;
  }
}

/** The id of the event that this one replaces. */
export function replaced({ content }: Pick<MatrixEvent, 'content'>): string | undefined {
  const relation: MatrixContent = Object(content['m.relates_to']);
  return relation['rel_type'] === 'm.replace' ? String(relation['event_id']) : undefined;
}

function some(key: string, value: object): MatrixContent {
  return Object.keys(value).length === 0 ? {} : { [key]: value };
}
