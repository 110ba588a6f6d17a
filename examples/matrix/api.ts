import type { ChannelKit } from 'assistantd';
import * as sdk from 'matrix-js-sdk/lib/http-api/index.js';
import { TypedEventEmitter } from 'matrix-js-sdk/lib/models/typed-event-emitter.js';

type Options = Omit<sdk.IRequestOpts, 'priority'> & { query?: Record<string, string>; body?: sdk.Body };
export type Call = ReturnType<typeof openApi>;

const REFUSED_TOKENS = new Set(['M_UNKNOWN_TOKEN', 'M_MISSING_TOKEN', 'M_USER_DEACTIVATED', 'M_USER_LOCKED']);

/**
 * Returns what calls a path of the client-server API, given in parts; it throws `SendError`s. The library’s own sync is left
 * alone: it moves its token on before messages are on disk.
 */
export function openApi(baseUrl: string, accessToken: string, { SendError }: ChannelKit) {
  const account = { baseUrl, accessToken, prefix: sdk.ClientPrefix.V3, onlyData: true };
  const http = new sdk.MatrixHttpApi(new TypedEventEmitter(), account);
  const failure = (error: unknown): Error => {
    // What may have arrived can be sent again: by its transaction, and by a look whether it is there.
    if (!(error instanceof sdk.MatrixError)) return new SendError('uncertain', String(Object(error).message));
    const { errcode = '', httpStatus = 0 } = error;
    const reason = `the homeserver answered ${httpStatus} ${errcode}: ${error.error}`;
    const retryAfterMs = sdk.safeGetRetryAfterMs(error, 1_000);
    if (error.isRateLimitError()) return new SendError('retryable', reason, { retryAfterMs });
    if (REFUSED_TOKENS.has(errcode)) return new SendError('revoked', reason);
    if (errcode === 'M_FORBIDDEN' || errcode === 'M_NOT_FOUND') return new SendError('blocked', reason);
    return new SendError(httpStatus >= 500 ? 'uncertain' : 'permanent', reason);
  };
  return <T>(method: 'Get' | 'Put' | 'Post', path: string[], abortSignal: AbortSignal, options: Options = {}) => {
    const { query, body, ...rest } = options;
    const [where, how] = [path.map(encodeURIComponent).join('/'), { ...rest, abortSignal, priority: undefined }];
    const answer = http.authedRequest<T>(sdk.Method[method], `/${where}`, { ...query }, body, how);
    return answer.catch((error: unknown) => Promise.reject(failure(error)));
  };
}
