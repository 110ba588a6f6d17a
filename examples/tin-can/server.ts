/**
 * A chat platform of one bot on this machine, to write a channel for (docs/writing-a-channel.md). Alone it takes lines from the
 * terminal as messages of people: `node examples/tin-can/server.ts`.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';

export interface User {
  readonly id: string;
  readonly name: string;
  readonly bot: boolean;
}

/** What somebody wrote, as `GET /updates` gives it out. `edited` counts the edits of a message. */
export interface Said {
  readonly id: string;
  readonly chat: string;
  readonly group: boolean;
  readonly thread?: string;
  readonly from: User;
  readonly text: string;
  /** Ids of the users that the text mentions. */
  readonly mentions: readonly string[];
  readonly replyTo?: { readonly id: string; readonly from: User; readonly text: string };
  readonly files: readonly {
    readonly id: string;
    readonly name: string;
    readonly type: string;
    readonly size: number;
  }[];
  readonly edited?: number;
  /** Milliseconds since 1970. */
  readonly at: number;
}

export interface Press {
  readonly id: string;
  readonly chat: string;
  readonly group: boolean;
  readonly thread?: string;
  readonly from: User;
  /** The id of the button. */
  readonly button: string;
}

/** Answers of `GET /updates` are lists of these, oldest first. `after=ID` confirms all up to that one. */
export type Update = { readonly id: number } & ({ readonly message: Said } | { readonly press: Press });

/** What the bot posts; the same `key` twice is one message. A file's `data` is base64. */
export interface Posted {
  readonly chat: string;
  readonly thread?: string;
  readonly text: string;
  readonly replyTo?: string;
  readonly buttons?: readonly (readonly { readonly id: string; readonly label: string }[])[];
  readonly files: readonly { readonly name: string; readonly type: string; readonly data: string }[];
  readonly key: string;
}

/** A message of the bot, with its texts before each edit. */
export type Shown = Posted & { readonly id: string; readonly before: readonly string[] };

/** A call of the bot. */
export interface Call {
  /** Method and first part of the path, such as `POST /messages`. */
  readonly name: string;
  readonly id: string;
  /** The chat that it is about; undefined: none. */
  readonly chat: string | undefined;
  /** Of `GET /updates`: the id up to which it confirms. */
  readonly after: number;
  /** Does what the call asks for, without an answer. */
  readonly act: () => Promise<unknown>;
  readonly response: ServerResponse;
}

export interface TinCanOptions {
  readonly token: string;
  /** @default 0, one that is free */
  readonly port?: number;
  /** Answers a call in the place of the platform: then it returns true. */
  readonly onCall?: (call: Call) => boolean | Promise<boolean>;
  readonly onMessage?: (message: Shown) => void;
}

export const BOT: User = { id: 'tin', name: 'tin', bot: true };
/** Without an update `GET /updates` is answered with an empty list after this time. */
const WAIT_MS = 25_000;

/** Serves the platform on 127.0.0.1. */
export class TinCanServer implements AsyncDisposable {
  readonly shown: Shown[] = [];
  /** Chats and threads in which "typing" was shown, one for each time. */
  readonly typed: { readonly chat: string; readonly thread?: string }[] = [];
  menu: readonly { readonly name: string }[] = [];
  /** How many files the bot fetched. */
  fetched = 0;
  readonly #options: TinCanOptions;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });
  readonly #updates: Update[] = [];
  readonly #files = new Map<string, Uint8Array>();
  /** Ids grow, also from one start to the next. */
  #lastId = Date.now();
  #wake = Promise.withResolvers<void>();

  private constructor(options: TinCanOptions) {
    this.#options = options;
  }

  static async open(options: TinCanOptions): Promise<TinCanServer> {
    const opened = new TinCanServer(options);
    opened.#server.listen(options.port ?? 0, '127.0.0.1');
    await once(opened.#server, 'listening');
    return opened;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What the bot has not confirmed. */
  get unconfirmed(): readonly Update[] {
    return this.#updates;
  }

  newId(): string {
    return String((this.#lastId += 1));
  }

  /** Somebody writes, in their own chat with the bot unless another is given. Returns what `GET /updates` gives out. */
  say({ from, ...more }: Partial<Said> & { readonly from: User; readonly text: string }): Said {
    const said = {
      id: this.newId(),
      chat: from.id,
      group: false,
      mentions: [],
      files: [],
      at: Date.now(),
      from,
      ...more,
    };
    this.put({ message: said });
    return said;
  }

  press(press: Omit<Press, 'id'>): void {
    this.put({ press: { id: this.newId(), ...press } });
  }

  /** Puts something into the bot's queue. */
  put(content: { readonly message: Said } | { readonly press: Press }): void {
    this.#updates.push({ id: Number(this.newId()), ...content });
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }

  /** Keeps a file; returns its id. */
  keep(bytes: Uint8Array): string {
    const id = this.newId();
    this.#files.set(id, bytes);
    return id;
  }

  /** Cuts every open connection; new ones are taken. */
  cut(): void {
    this.#server.closeAllConnections();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.cut();
    await closed;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://tin-can');
    const [, path = '', id = ''] = url.pathname.split('/');
    let text = '';
    for await (const chunk of request.setEncoding('utf8')) text += String(chunk);
    const body = (text === '' ? {} : JSON.parse(text)) as Posted;
    if (request.headers.authorization !== `Bearer ${this.#options.token}`) {
      response.writeHead(401).end();
      return;
    }
    const name = `${request.method} /${path}`;
    const chat = name === 'PUT /messages' ? this.shown.find((one) => one.id === id)?.chat : body.chat;
    const after = Number(url.searchParams.get('after'));
    const act = async (): Promise<unknown> => await this.#act(name, { id, body, after });
    if ((await this.#options.onCall?.({ name, id, chat, after, act, response })) === true) return;
    const result = await act();
    response.writeHead(result === undefined ? 404 : 200);
    response.end(result instanceof Uint8Array ? result : JSON.stringify(result ?? {}));
  }

  #act(name: string, { id, body, after }: { id: string; body: Posted; after: number }): unknown {
    switch (name) {
      case 'GET /me':
        return BOT;
      case 'GET /updates':
        return this.#after(after);
      case 'POST /messages':
        return this.#post(body);
      case 'PUT /messages':
        return this.#edit(id, body);
      case 'POST /typing':
        this.typed.push(body);
        return {};
      case 'PUT /menu':
        this.menu = body as unknown as typeof this.menu;
        return {};
      case 'GET /files':
        this.fetched += 1;
        return this.#files.get(id);
      default:
        return undefined;
    }
  }

  async #after(after: number): Promise<readonly Update[]> {
    while ((this.#updates[0]?.id ?? Infinity) <= after) this.#updates.shift();
    if (this.#updates.length === 0) await Promise.race([this.#wake.promise, wait(WAIT_MS, undefined, { ref: false })]);
    return this.#updates;
  }

  #post(posted: Posted): Shown {
    const known = this.shown.find(({ key }) => key === posted.key);
    if (known !== undefined) return known;
    const shown = { ...posted, id: this.newId(), before: [] };
    this.shown.push(shown);
    this.#options.onMessage?.(shown);
    return shown;
  }

  #edit(id: string, { text, buttons }: Posted): Shown | undefined {
    const at = this.shown.findIndex((one) => one.id === id);
    const old = this.shown[at];
    if (old === undefined) return undefined;
    const before = old.text === text ? old.before : [...old.before, old.text];
    const { buttons: _, ...rest } = old;
    const edited = { ...rest, text, before, ...(buttons === undefined ? {} : { buttons }) };
    this.shown[at] = edited;
    this.#options.onMessage?.(edited);
    return edited;
  }
}

if (import.meta.main) {
  const onMessage = ({ chat, text, buttons = [], files }: Shown): void => {
    const more = [...buttons.flat().map(({ label }) => ` [${label}]`), ...files.map((file) => ` (file ${file.name})`)];
    console.log(`to ${chat}: ${text}${more.join('')}`);
  };
  const server = await TinCanServer.open({ token: 'string-and-two-cans', port: 7700, onMessage });
  console.log(`The tin can is at ${server.url}. What you type is written by ann; what follows “bob: ”, by bob.`);
  for await (const line of createInterface({ input: process.stdin })) {
    const { name = 'ann', text = '' } = /^(?:(?<name>\w+): )?(?<text>.*)$/u.exec(line)?.groups ?? {};
    server.say({ from: { id: name, name, bot: false }, text });
  }
}
