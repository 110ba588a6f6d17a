import { REST } from '@discordjs/rest';
import { type Permit, permittedRequests } from '../../core/api-channels.ts';
import { payloads } from './payload.ts';

const API_VERSION = '10';
/** Deadline for the headers of a response. */
const CALL_DEADLINE_MS = 15_000;
/** The same for uploads; delivery aborts one much earlier, by its size. */
const UPLOAD_DEADLINE_MS = 3_600_000;
const DISCORD = 'https://discord.com/api';

/** Types of an interaction response. https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object */
export const CALLBACK = { thinking: 5, seen: 6 } as const;

/** Flag of a message that only the person of its interaction sees. */
export const EPHEMERAL = 64;

export interface UploadFile {
  readonly name: string;
  readonly data: Buffer;
  readonly contentType: string;
}

/** A sent message as Discord stored it. */
export interface SentMessage {
  readonly id: string;
  readonly content?: string;
}

export type RequestBody = Readonly<Record<string, unknown>>;

/** A pressed button or a slash command. The token is a secret that is valid for 15 minutes. */
export interface InteractionKey {
  readonly id: string;
  readonly token: string;
}

/** The calls to Discord's API. Each rejects with the errors of `@discordjs/rest`. */
export interface DiscordApi extends Disposable {
  /** For the Gateway. */
  readonly rest: REST;
  readonly send: (
    place: string,
    body: RequestBody,
    files: readonly UploadFile[],
    signal: AbortSignal,
  ) => Promise<SentMessage>;
  readonly edit: (place: string, message: string, body: RequestBody, signal: AbortSignal) => Promise<void>;
  readonly history: (
    place: string,
    query: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<readonly ({ readonly id: string } & RequestBody)[]>;
  readonly typing: (place: string, signal: AbortSignal) => Promise<void>;
  readonly react: (place: string, message: string, emoji: string, signal: AbortSignal) => Promise<void>;
  /** Takes the bot's own reaction away. */
  readonly unreact: DiscordApi['react'];
  readonly place: (place: string, signal: AbortSignal) => Promise<unknown>;
  /** The commands that are registered. */
  readonly registered: (application: string, signal: AbortSignal) => Promise<unknown>;
  readonly register: (application: string, commands: readonly RequestBody[], signal: AbortSignal) => Promise<void>;
  /** Acknowledges an interaction; Discord waits 3 s for that. `flags`: of the message that will come. */
  readonly confirm: (
    interaction: InteractionKey,
    callback: { readonly type: number; readonly flags?: number },
    signal: AbortSignal,
  ) => Promise<void>;
  /** Replaces the placeholder of a deferred response by a message. */
  readonly fill: (
    application: string,
    token: string,
    body: RequestBody,
    files: readonly UploadFile[],
    signal: AbortSignal,
  ) => Promise<SentMessage>;
  /** Adds a message below the first one of a deferred response. */
  readonly follow: DiscordApi['fill'];
  /** Deletes the placeholder of a deferred response. */
  readonly unfill: (application: string, token: string, signal: AbortSignal) => Promise<void>;
  /** Fetches fresh addresses for an attachment whose address has expired. */
  readonly refresh: (url: string, signal: AbortSignal) => Promise<unknown>;
}

/** Opens the library's client without its own retries and waits for rate limits, which are left to delivery. */
export function openApi({
  token,
  apiBase,
  permit,
}: {
  token: string;
  apiBase?: string | null;
  /** @default always permitted */
  permit?: Permit;
}): DiscordApi {
  const through: object = permit === undefined ? {} : { agent: permittedRequests(permit) };
  const open = (timeout: number): REST =>
    new REST({
      api: apiBase ?? DISCORD,
      version: API_VERSION,
      retries: 0,
      timeout,
      rejectOnRateLimit: () => true,
      ...through,
    }).setToken(token);
  const rest = open(CALL_DEADLINE_MS);
  const uploads = open(UPLOAD_DEADLINE_MS);
  const restFor = (files: readonly UploadFile[]): REST => (files.length > 0 ? uploads : rest);
  return {
    rest,
    send: async (place, body, files, signal) =>
      payloads.sentMessage.parse(
        await restFor(files).post(`/channels/${place}/messages`, { body, files: [...files], signal }),
      ),
    edit: async (place, message, body, signal) => {
      await rest.patch(`/channels/${place}/messages/${message}`, { body, signal });
    },
    history: async (place, query, signal) =>
      payloads.history.parse(
        await rest.get(`/channels/${place}/messages`, { query: new URLSearchParams(query), signal }),
      ),
    typing: async (place, signal) => {
      await rest.post(`/channels/${place}/typing`, { signal });
    },
    react: async (place, message, emoji, signal) => {
      await rest.put(ownReaction(place, message, emoji), { signal });
    },
    unreact: async (place, message, emoji, signal) => {
      await rest.delete(ownReaction(place, message, emoji), { signal });
    },
    place: (place, signal) => rest.get(`/channels/${place}`, { signal }),
    registered: (application, signal) => rest.get(`/applications/${application}/commands`, { signal }),
    register: async (application, commands, signal) => {
      await rest.put(`/applications/${application}/commands`, { body: commands, signal });
    },
    confirm: async ({ id, token: key }, { type, flags }, signal) => {
      const body = { type, ...(flags === undefined ? {} : { data: { flags } }) };
      await rest.post(`/interactions/${id}/${key}/callback`, { body, auth: false, signal });
    },
    fill: async (application, key, body, files, signal) =>
      payloads.sentMessage.parse(
        await restFor(files).patch(`/webhooks/${application}/${key}/messages/@original`, {
          body,
          files: [...files],
          auth: false,
          signal,
        }),
      ),
    follow: async (application, key, body, files, signal) =>
      payloads.sentMessage.parse(
        await restFor(files).post(`/webhooks/${application}/${key}`, {
          body,
          files: [...files],
          query: new URLSearchParams({ wait: 'true' }),
          auth: false,
          signal,
        }),
      ),
    unfill: async (application, key, signal) => {
      await rest.delete(`/webhooks/${application}/${key}/messages/@original`, { auth: false, signal });
    },
    refresh: (url, signal) => rest.post('/attachments/refresh-urls', { body: { attachment_urls: [url] }, signal }),
    [Symbol.dispose]() {
      for (const client of [rest, uploads]) {
        client.clearHashSweeper();
        client.clearHandlerSweeper();
      }
    },
  };
}

function ownReaction(place: string, message: string, emoji: string): `/${string}` {
  return `/channels/${place}/messages/${message}/reactions/${encodeURIComponent(emoji)}/@me`;
}
