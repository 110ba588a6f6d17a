import { webApi } from '@slack/bolt';
import { ChannelError, SendError, isAbort } from '../../core/api-channels.ts';
import { errorCode, errorMessage } from '../../core/api.ts';

/** What a failed call to the Web API says about the call. */
export interface CallFailure {
  /** Slack's own word for it; undefined when Slack did not answer. */
  readonly code: string | undefined;
  /** For people. */
  readonly reason: string;
  readonly retryAfterMs: number | undefined;
  /** False: Slack certainly never got the call. */
  readonly sent: boolean;
}

/** The connection was never made, or there was a `NotPermitted`. */
const UNSENT =
  /^(?:home-uncertain|ECONNREFUSED|ENOTFOUND|EAI_AGAIN|UND_ERR_CONNECT_TIMEOUT|ERR_SSL_\w+|CERT_\w+|DEPTH_ZERO\w+)$/u;
const REFUSED_TOKENS: ReadonlySet<string> = new Set([
  'invalid_auth',
  'not_authed',
  'account_inactive',
  'token_revoked',
  'token_expired',
  'user_removed_from_team',
  'team_disabled',
]);
/** A word for trouble inside Slack: the message may be there all the same. */
const TROUBLES: ReadonlySet<string> = new Set([
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
  'unknown_error',
  // A workspace that is being moved into an organisation, for minutes.
  'team_added_to_org',
]);

export function callFailure(thrown: unknown): CallFailure {
  if (thrown instanceof webApi.WebAPIRateLimitedError) {
    const { retryAfter } = thrown;
    return failure(`Slack asks to wait ${retryAfter} s`, { code: 'ratelimited', retryAfterMs: retryAfter * 1_000 });
  }
  if (thrown instanceof webApi.WebAPIPlatformError) {
    const { error } = thrown.data;
    // Anything else is the rest of an answer that was cut off, or a page of a proxy.
    if (typeof error !== 'string' || !/^[a-z0-9_]{1,60}$/u.test(error))
      return failure('The answer to the call is not the Web API’s');
    const scope = 'needed' in thrown.data ? ` (the app lacks the scope ${String(thrown.data.needed)})` : '';
    return failure(`Slack answered ${error}${scope}`, { code: error });
  }
  if (thrown instanceof webApi.WebAPIHTTPError) return failure(`Slack answered with HTTP ${thrown.statusCode}`);
  const error = thrown instanceof webApi.WebAPIRequestError ? thrown.original : thrown;
  const message = errorMessage(error);
  if (message.startsWith('Retry header did not contain'))
    return failure('Slack asks to wait', { code: 'ratelimited', retryAfterMs: 1_000 });
  const code = errorCode(error instanceof Error ? (error.cause ?? error) : error);
  const reason = `The call to Slack failed: ${code ?? (isAbort(error) ? 'it took too long' : message)}`;
  return failure(reason, { sent: code === undefined || !UNSENT.test(code) });
}

function failure(reason: string, facts: Partial<CallFailure> = {}): CallFailure {
  return { code: undefined, retryAfterMs: undefined, sent: true, ...facts, reason };
}

/** By Slack's own words where it answered; otherwise retryable only when the message certainly never left. */
export function toSendError(thrown: unknown): SendError {
  if (thrown instanceof SendError) return thrown;
  const found = callFailure(thrown);
  const { code, reason, retryAfterMs, sent } = found;
  if (code === undefined) return new SendError(sent ? 'uncertain' : 'retryable', reason);
  if (isTokenRefused(found)) return new SendError('revoked', reason);
  if (code === 'ratelimited' || code === 'rate_limited')
    return new SendError('retryable', reason, { retryAfterMs: retryAfterMs ?? 1_000 });
  return new SendError(TROUBLES.has(code) ? 'uncertain' : 'permanent', reason);
}

/** True when Slack refused the blocks, not the message. */
export function isMarkupRefused(thrown: unknown): boolean {
  const { code = '' } = callFailure(thrown);
  return /^(?:invalid_blocks\w*|msg_blocks_too_long|markdown_text_\w+)$/u.test(code);
}

/** True when Slack said for good that this is not to be had. */
export function isRefused({ code, retryAfterMs }: CallFailure): boolean {
  return code !== undefined && retryAfterMs === undefined && !TROUBLES.has(code) && !REFUSED_TOKENS.has(code);
}

export function isTokenRefused({ code }: CallFailure): boolean {
  return code !== undefined && REFUSED_TOKENS.has(code);
}

export function botTokenRefused(channel: string, { code }: CallFailure): ChannelError {
  return new ChannelError(
    `Slack refused the bot token of channel "${channel}" (${code}): copy the "Bot User OAuth Token" from "OAuth & Permissions" of your app into channels.${channel}.botToken (or SLACK_BOT_TOKEN) and start again.`,
    { retry: false },
  );
}

export function appTokenRefused(channel: string, { code }: CallFailure): ChannelError {
  return new ChannelError(
    `Slack refused the app-level token of channel "${channel}" (${code}): make one with the scope connections:write under "Basic Information" of your app, put it into channels.${channel}.appToken (or SLACK_APP_TOKEN) and start again.`,
    { retry: false },
  );
}
