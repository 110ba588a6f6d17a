import { newSnowflake } from './discord-ids.ts';
import { isRecord } from './validate.ts';
import type { ServerSocket } from './web-socket-server.ts';

type Payload = Readonly<Record<string, unknown>>;

const DISPATCH = 0;
const HEARTBEAT = 1;
const IDENTIFY = 2;
const RESUME = 6;
const RECONNECT = 7;
const INVALID = 9;
const HELLO = 10;
const ACK = 11;
const PRIVILEGED = 1 << 15;

interface Session {
  readonly id: string;
  readonly events: { readonly s: number; readonly t: string; readonly d: unknown }[];
  socket: ServerSocket | undefined;
}

export interface GatewayFacts {
  readonly token: string;
  readonly heartbeatMs: number;
  /** What a new session is told after READY. */
  readonly guilds: () => readonly Payload[];
  readonly ready: () => Payload;
}

/** The Gateway's sessions: each goes on after a cut, and is told then what it missed. */
export class DiscordGateway {
  readonly #facts: GatewayFacts;
  readonly #sessions = new Map<string, Session>();
  readonly #open = new Set<ServerSocket>();
  /** How often sessions were begun and resumed. */
  identifies = 0;
  resumes = 0;
  heartbeats = 0;
  /** Whether the developer portal lets the bot read messages. */
  mayReadMessages = true;
  /** New connections are refused. */
  isDown = false;

  constructor(facts: GatewayFacts) {
    this.#facts = facts;
  }

  get isConnected(): boolean {
    return [...this.#sessions.values()].some(({ socket }) => socket !== undefined);
  }

  /** An event for every session, now or when it is resumed. */
  dispatch(t: string, d: unknown): void {
    for (const session of this.#sessions.values()) this.#tell(session, t, d);
  }

  /** Op 7. */
  askToReconnect(): void {
    for (const socket of this.#open) socket.send(JSON.stringify({ op: RECONNECT, d: null }));
  }

  /** Op 9. */
  invalidate(isResumable: boolean): void {
    if (!isResumable) this.#forget();
    for (const socket of this.#open) socket.send(JSON.stringify({ op: INVALID, d: isResumable }));
  }

  /** Ends every connection with a code; without one it just breaks. */
  drop(code?: number): void {
    for (const socket of this.#open) {
      if (code === undefined) socket.cut();
      else socket.close(code);
    }
  }

  /** Every connection stays and carries nothing any more. */
  mute(): void {
    for (const socket of this.#open) socket.mute();
  }

  /** Anything, as it is. */
  sendRaw(text: string): void {
    for (const socket of this.#open) socket.send(text);
  }

  accept(socket: ServerSocket): { onText: (text: string) => void; onClose: () => void } | undefined {
    if (this.isDown) return undefined;
    this.#open.add(socket);
    queueMicrotask(() =>
      socket.send(JSON.stringify({ op: HELLO, d: { heartbeat_interval: this.#facts.heartbeatMs } })),
    );
    return {
      onText: (text) => this.#hear(socket, JSON.parse(text)),
      onClose: () => {
        this.#open.delete(socket);
        for (const session of this.#sessions.values()) if (session.socket === socket) session.socket = undefined;
      },
    };
  }

  #hear(socket: ServerSocket, payload: unknown): void {
    if (!isRecord(payload)) return;
    const data = isRecord(payload['d']) ? payload['d'] : {};
    if (payload['op'] === HEARTBEAT) {
      this.heartbeats += 1;
      socket.send(JSON.stringify({ op: ACK }));
    } else if (payload['op'] === IDENTIFY) this.#identify(socket, data);
    else if (payload['op'] === RESUME) this.#resume(socket, data);
  }

  #identify(socket: ServerSocket, { token, intents }: Payload): void {
    if (token !== this.#facts.token) {
      socket.close(4004);
      return;
    }
    if (!this.mayReadMessages && (Number(intents) & PRIVILEGED) !== 0) {
      socket.close(4014);
      return;
    }
    this.identifies += 1;
    // A session that is not resumed is over when another begins.
    this.#forget();
    const session: Session = { id: newSnowflake(), events: [], socket };
    this.#sessions.set(session.id, session);
    this.#tell(session, 'READY', { ...this.#facts.ready(), session_id: session.id });
    for (const guild of this.#facts.guilds()) this.#tell(session, 'GUILD_CREATE', guild);
  }

  #resume(socket: ServerSocket, { token, session_id: id, seq }: Payload): void {
    const session = this.#sessions.get(String(id));
    if (token !== this.#facts.token || session === undefined) {
      socket.send(JSON.stringify({ op: INVALID, d: false }));
      return;
    }
    this.resumes += 1;
    session.socket = socket;
    for (const event of session.events.filter(({ s }) => s > Number(seq))) {
      socket.send(JSON.stringify({ op: DISPATCH, ...event }));
    }
    this.#tell(session, 'RESUMED', {});
  }

  #tell(session: Session, t: string, d: unknown): void {
    const event = { s: session.events.length + 1, t, d };
    session.events.push(event);
    session.socket?.send(JSON.stringify({ op: DISPATCH, ...event }));
  }

  #forget(): void {
    this.#sessions.clear();
  }
}
