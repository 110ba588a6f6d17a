import { DiscordAPIError, HTTPError, RateLimitError } from '@discordjs/rest';
import { errorCode, errorMessage } from '../../core/api.ts';
import { ChannelError, SendError } from '../../core/api-channels.ts';

/** Why a call to Discord failed. */
interface CallFailure {
  /** HTTP status of a refusal by Discord itself; undefined for other failures, such as a proxy's page or a lost connection. */
  readonly status: number | undefined;
  /** Discord's JSON error code. */
  readonly code: number | undefined;
  /** A sentence for people. It holds no URL, because a URL may contain the token of an interaction. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** False when the call certainly did not reach Discord. */
  readonly sent: boolean;
}

/** Error codes of connections that were not established, and of `NotPermitted`. */
const NEVER_SENT =
  /^(?:home-uncertain|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|EPROTO|UND_ERR_CONNECT_TIMEOUT|ERR_(?:SSL|TLS)_\w+|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+)$/u;

/** Codes of a chat that is closed to the bot: unknown channel, no access, direct messages not allowed. */
const BLOCKED: ReadonlySet<number> = new Set([10_003, 50_001, 50_007]);

/** Wait after a rate limit that names no time. */
const USUAL_WAIT_MS = 1_000;

/** Reads what the Discord SDK threw. */
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

/**
 * Turns what the SDK threw into a `SendError`. An answer of Discord decides its kind. Without an answer it is `retryable` if
 * the call certainly did not reach Discord, and `uncertain` otherwise.
 */
export function toSendError(thrown: unknown): SendError {
  if (thrown instanceof SendError) return thrown;
  const { status, code, reason, retryAfterMs, sent } = callFailure(thrown);
  if (status === 401) return new SendError('revoked', reason);
  if (status === 429) return new SendError('retryable', reason, { retryAfterMs: retryAfterMs ?? USUAL_WAIT_MS });
  if (code !== undefined && BLOCKED.has(code)) return new SendError('blocked', reason);
  if (status !== undefined && status !== 408) return new SendError('permanent', reason);
  return new SendError(sent ? 'uncertain' : 'retryable', reason);
}

/** Whether Discord refused a call for good: an error status other than 401, 408 and 429. */
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
