import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { assistantCommand } from '../../util/assistant-command.ts';
import type { Clock } from '../../util/clock.ts';
import type { Random } from '../../util/random.ts';
import { RecentMap } from '../../util/recent-map.ts';
import { Failures } from './failures.ts';
import { addressOf, isFromOwnPage, isPublic, type OwnPlaces, type Refusal } from './safety.ts';

const CODE_MS = 600_000;
const COOKIE_MS = 30 * 86_400_000;
/** Login codes that wait to be used; an older one is forgotten. */
const MOST_CODES = 100;
const MOST_KNOWN = 1_000;

export interface LoginOptions {
  readonly token: string;
  readonly places: OwnPlaces;
  readonly clock: Clock;
  readonly random: Random;
  readonly ended: EndedLogins;
  /** The port that is listened on. Cookies do not tell ports apart, so it is part of the cookie's name. */
  readonly port: () => number;
}

/** Cookies that were logged out, by the hash of their value, over restarts too. */
export interface EndedLogins {
  has(hash: string): boolean;
  /** Durable when it resolves. `until`: when the cookie expires anyway, ms since 1970. */
  add(hash: string, until: number): Promise<void>;
}

const NEEDED = 'Log in first, or send the token as a bearer token.';

/** The header with the second half of a login, in answers to `/login` and in requests of the page. */
export const LOGIN_HEADER = 'x-assistant-login';

/**
 * Who may enter: the bearer of the token, or a browser that a login code or the token logged in. Such a login has two
 * halves: a cookie, and a key that the page keeps in its storage. Browsers send a cookie to every port of a host, so other
 * servers on this machine get to see it, but the storage belongs to one origin.
 */
export class Login {
  readonly #options: LoginOptions;
  readonly #failures: Failures;
  /** By hash, until when. */
  readonly #codes = new RecentMap<string, number>(MOST_CODES);

  /** Addresses that sent the right token or code before. */
  readonly #known = new RecentMap<string, true>(MOST_KNOWN);

  readonly #entered = new WeakSet<Socket>();

  constructor(options: LoginOptions) {
    this.#options = options;
    this.#failures = new Failures(options.clock);
  }

  /** Makes a code that logs in once, within 10 minutes. */
  newCode(): string {
    const code = Buffer.from(this.#options.random.bytes(32)).toString('base64url');
    this.#codes.set(hash(code).toString('hex'), this.#options.clock.monotonic() + CODE_MS);
    return code;
  }

  /** Whether a request that may enter came over this connection. */
  hasEntered(socket: Socket): boolean {
    return this.#entered.has(socket);
  }

  /** Why a request may not enter; null: it may. */
  refusal(request: IncomingMessage): Refusal | null {
    const refusal = this.#refusal(request);
    if (refusal === null) this.#entered.add(request.socket);
    return refusal;
  }

  #refusal(request: IncomingMessage): Refusal | null {
    const bearer = /^Bearer +(?<token>\S+)$/iu.exec(request.headers.authorization ?? '')?.groups?.['token'];
    if (bearer !== undefined) return this.#try(request, () => isSame(bearer, this.#options.token));
    const needed = { status: 401, code: 'login-needed', message: NEEDED } as const;
    const cookie = this.#cookie(request);
    if (cookie === null) return needed;
    if (isFromOwnPage(request, this.#options.places)) return this.#hasKeyOf(cookie, request) ? null : needed;
    return { status: 403, code: 'origin-missing', message: 'The cookie counts only for requests of the page itself.' };
  }

  /** Of a request that was let in: its cookie has not been logged out or expired since. */
  isStillIn(request: IncomingMessage): boolean {
    return request.headers.authorization !== undefined || this.#cookie(request) !== null;
  }

  /** Exchanges a login code or the token for both halves of a login. `cookie`: the value of `Set-Cookie`. */
  enter(
    request: IncomingMessage,
    { code, token }: { readonly code?: string; readonly token?: string },
  ): Refusal | { readonly cookie: string; readonly key: string } {
    const isRight = (): boolean =>
      (code !== undefined && this.#use(code)) || (token !== undefined && isSame(token, this.#options.token));
    const refusal = this.#try(request, isRight);
    if (refusal !== null) return refusal;
    const { clock, random } = this.#options;
    const nonce = Buffer.from(random.bytes(16)).toString('base64url');
    const until = `${clock.now() + COOKIE_MS}.${nonce}`;
    const value = `${until}.${this.#sign(until)}`;
    return { cookie: this.#setCookie(request, value, COOKIE_MS), key: this.#keyOf({ value }) };
  }

  /**
   * Ends a login for good if the request has both halves, since others may have seen the cookie. Returns the value of
   * `Set-Cookie` that removes the cookie. Rejects when the end of the login can't be stored.
   */
  async leave(request: IncomingMessage): Promise<string> {
    const cookie = this.#cookie(request);
    if (cookie !== null && this.#hasKeyOf(cookie, request)) {
      await this.#options.ended.add(hash(cookie.value).toString('hex'), cookie.until);
    }
    return this.#setCookie(request, '', 0);
  }

  #try(request: IncomingMessage, isRight: () => boolean): Refusal | null {
    const address = addressOf(request, this.#options.places);
    const retryAfter = this.#failures.waitFor(address);
    // A client that was right before isn't kept out by the wrong tries of others, such as another user of this machine.
    if (retryAfter > 0 && !(this.#known.get(address) === true && isRight())) {
      const message = `Too many failed logins. Try again in ${retryAfter} seconds.`;
      return { status: 429, code: 'too-many-failures', message, retryAfter };
    }
    if (retryAfter > 0 || isRight()) {
      this.#known.set(address, true);
      return null;
    }
    this.#failures.failed(address);
    const message = `This code or token is not valid, or no longer. To get a new login link: ${assistantCommand('page')}`;
    return { status: 401, code: 'login-failed', message };
  }

  #use(code: string): boolean {
    const key = hash(code).toString('hex');
    const until = this.#codes.get(key);
    this.#codes.delete(key);
    return until !== undefined && this.#options.clock.monotonic() < until;
  }

  /** The valid cookie of a request; null: it has none. */
  #cookie({ headers }: IncomingMessage): { readonly value: string; readonly until: number } | null {
    const name = `${this.#name()}=`;
    const given = (headers.cookie ?? '').split(/; */u).find((part) => part.startsWith(name));
    const value = given?.slice(name.length) ?? '';
    const match = /^(?<signed>(?<until>\d{1,16})\.[\w-]{22})\.(?<signature>[\w-]{43})$/u.exec(value)?.groups;
    if (match === undefined) return null;
    const { clock, ended } = this.#options;
    const { signed = '', signature = '' } = match;
    const until = Number(match['until']);
    if (!isSame(signature, this.#sign(signed)) || clock.now() >= until) return null;
    return ended.has(hash(value).toString('hex')) ? null : { value, until };
  }

  #hasKeyOf(cookie: { readonly value: string }, request: IncomingMessage): boolean {
    return isSame(keyIn(request), this.#keyOf(cookie));
  }

  #keyOf({ value }: { readonly value: string }): string {
    return createHmac('sha256', this.#options.token).update(`second half of ${value}`).digest('base64url');
  }

  #sign(text: string): string {
    return createHmac('sha256', this.#options.token).update(`assistant session ${text}`).digest('base64url');
  }

  #name(): string {
    return `assistant_session_${this.#options.port()}`;
  }

  #setCookie(request: IncomingMessage, value: string, ms: number): string {
    const { places } = this.#options;
    const secure = isPublic(request, places) && places.publicUrl?.startsWith('https:') === true ? '; Secure' : '';
    return `${this.#name()}=${value}; Path=/; Max-Age=${ms / 1000}; HttpOnly; SameSite=Strict${secure}`;
  }
}

/** WebSockets, images and downloads can't have headers of their own, so the page puts the key into their address. */
function keyIn({ headers, method, url = '' }: IncomingMessage): string {
  const header = headers[LOGIN_HEADER];
  if (typeof header === 'string') return header;
  return method === 'GET' ? (URL.parse(url, 'http://own')?.searchParams.get('login') ?? '') : '';
}

/** Compares without telling by its time how much is right. */
function isSame(given: string, right: string): boolean {
  return timingSafeEqual(hash(given), hash(right));
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
