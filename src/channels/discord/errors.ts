import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest';
import { errorCode, errorMessage } from '../../util/errors.ts';
import { ChannelError, SendError } from '../channel.ts';

/** What a failed call to Discord says about the call. */
interface CallFailure {
  /** The status of Discord's own refusal; undefined when it gave none. */
  readonly status: number | undefined;
  /** Discord's own number for what is wrong. */
  readonly code: number | undefined;
  /** For people; without addresses, which may hold the token of an interaction. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** False: Discord certainly never got the call. */
  readonly sent: boolean;
}

/** Codes of a connection that was never made. */
const NEVER_SENT =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPROTO|UND_ERR_CONNECT_TIMEOUT|ERR_(?:SSL|TLS)_\w+|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/u;

/** This chat is closed to the bot: unknown channel, no access, no direct messages from it. */
const BLOCKED: ReadonlySet<number> = new Set([10_003, 50_001, 50_007]);

/** A rate limit that does not say how long it lasts. */
const USUAL_WAIT_MS = 1_000;

export function callFailure(thrown: unknown): CallFailure {
  const plain = { status: undefined, code: undefined, retryAfterMs: undefined, sent: true };
  if (thrown instanceof RateLimitError) {
    const retryAfterMs = thrown.retryAfter > 0 ? thrown.retryAfter : USUAL_WAIT_MS;
    return { ...plain, status: 429, reason: 'Discord asks to wait', retryAfterMs };
  }
  if (thrown instanceof DiscordAPIError) {
    const { status, code, message } = thrown;
    const number = typeof code === 'number' ? code : undefined;
    return { ...plain, status, code: number, reason: `Discord answered ${status}: ${message.split('\n', 1)[0]}` };
  }
  if (thrown instanceof HTTPError) return { ...plain, reason: `Discord answered ${thrown.status}` };
  const code = errorCode(thrown);
  const isSent = code === undefined || !NEVER_SENT.test(code);
  return { ...plain, reason: `The call to Discord failed: ${code ?? errorMessage(thrown)}`, sent: isSent };
}

/** By Discord's own words where it answered; otherwise retryable only when the message certainly never left. */
export function toSendError(thrown: unknown): SendError {
  if (thrown instanceof SendError) return thrown;
  const { status, code, reason, retryAfterMs, sent } = callFailure(thrown);
  if (status === 401) return new SendError('revoked', reason);
  if (status === 429) return new SendError('retryable', reason, { retryAfterMs: retryAfterMs ?? USUAL_WAIT_MS });
  if (code !== undefined && BLOCKED.has(code)) return new SendError('blocked', reason);
  if (status !== undefined && status !== 408) return new SendError('permanent', reason);
  return new SendError(sent ? 'uncertain' : 'retryable', reason);
}

/** True when Discord refused for good what was asked, whatever the reason. */
export function isRefused(thrown: unknown): boolean {
  const { status } = callFailure(thrown);
  return status !== undefined && status !== 401 && status !== 429 && status !== 408;
}

export function tokenRefused(channel: string): ChannelError {
  return new ChannelError(
    `Discord refused the bot token of channel "${channel}": at https://discord.com/developers/applications choose your application, press "Reset Token" on its page "Bot", put the new token into channels.${channel}.token (or DISCORD_BOT_TOKEN) and start again.`,
    { retry: false },
  );
}

export function intentsRefused(channel: string): ChannelError {
  return new ChannelError(
    `Discord does not let channel "${channel}" read messages: at https://discord.com/developers/applications choose your application, switch on "Message Content Intent" under "Privileged Gateway Intents" on its page "Bot", save, and start again (channels.${channel}).`,
    { retry: false },
  );
}
