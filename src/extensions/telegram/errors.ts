import { GrammyError, HttpError } from 'grammy/web';
import { ChannelError, SendError } from '../../core/api-channels.ts';
import { errorMessage } from '../../core/api.ts';
import { TransportError } from './transport.ts';

/** What a failed call to the Bot API says about the call. */
export interface CallFailure {
  /** The Bot API's own error code; undefined when it did not answer. */
  readonly code: number | undefined;
  /** For people; without addresses, so without the token. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** False: the Bot API certainly never got the call. */
  readonly sent: boolean;
}

export function callFailure(thrown: unknown): CallFailure {
  if (thrown instanceof GrammyError) {
    const { error_code: code, description, parameters } = thrown;
    const seconds = parameters.retry_after;
    return {
      code,
      reason: `Telegram answered ${code}: ${description}`,
      retryAfterMs: typeof seconds === 'number' && seconds >= 0 ? seconds * 1_000 : undefined,
      sent: true,
    };
  }
  const error = thrown instanceof HttpError ? thrown.error : thrown;
  const known = error instanceof TransportError;
  return {
    code: undefined,
    reason: `The call to Telegram failed: ${known ? error.message : errorMessage(error)}`,
    retryAfterMs: undefined,
    sent: known ? error.sent : true,
  };
}

/** By the platform's own words where it answered; otherwise retryable only when the message certainly never left. */
export function toSendError(thrown: unknown): SendError {
  const { code, reason, retryAfterMs, sent } = callFailure(thrown);
  if (code === undefined) return new SendError(sent ? 'uncertain' : 'retryable', reason);
  if (code === 401) return new SendError('revoked', reason);
  if (code === 403) return new SendError('blocked', reason);
  if (code === 429) return new SendError('retryable', reason, { retryAfterMs: retryAfterMs ?? 1_000 });
  if (code >= 500 && code < 600) return new SendError('retryable', reason);
  if (code >= 400 && code < 500) return new SendError('permanent', reason);
  return new SendError('uncertain', reason);
}

/** True when Telegram refused the markup, not the message. */
export function isMarkupRefused(thrown: unknown): boolean {
  return (
    thrown instanceof GrammyError &&
    thrown.error_code === 400 &&
    /can't parse entities|can't find end of the entity/iu.test(thrown.description)
  );
}

/** True when an edit would change nothing. */
export function isUnchanged(thrown: unknown): boolean {
  return thrown instanceof GrammyError && thrown.error_code === 400 && /is not modified/iu.test(thrown.description);
}

/** The Bot API answers 401 to a revoked token and 404 to a malformed one. */
export function isTokenRefused({ code }: CallFailure): boolean {
  return code === 401 || code === 404;
}

export function tokenRefused(channel: string): ChannelError {
  return new ChannelError(
    `Telegram refused the bot token of channel "${channel}": get a valid one from @BotFather, put it into channels.${channel}.token (or TELEGRAM_BOT_TOKEN) and start again.`,
    // Also what it answers on a bad day.
    { retry: 'seldom' },
  );
}
