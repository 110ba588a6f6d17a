import { Client, DefaultCache } from '@larksuiteoapi/node-sdk';
import type { ChannelKit } from 'assistantd';

export type Json = Readonly<Record<string, unknown>>;
export type Options = Readonly<Record<'appId' | 'appSecret' | 'domain', string>>;
/** The SDK would log headers, which hold tokens. */
export const QUIET = { error() {}, warn() {}, info() {}, debug() {}, trace() {} };

const THROTTLED = new Set([99_991_400, 230_020, 230_049, 11_232, 11_233, 11_247]);
const STALE_TOKEN = new Set([99_991_661, 99_991_663, 99_991_664, 99_991_665, 99_991_668, 99_991_677]);
const SECRET_REFUSED = new Set([10_003, 10_012, 10_014, 99_991_543]);
/** The bot is not in the group, not available to the person, switched off, or may not write there. */
const BLOCKED = new Set([230_002, 230_006, 230_013, 230_018, 230_035]);
const UNSENT = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|CERT_|DEPTH_ZERO|UNABLE_TO_|ERR_TLS)/u;

interface Thrown extends Readonly<Partial<Record<'message' | 'code', string>>> {
  readonly response?: { readonly status: number; readonly data?: unknown; readonly headers?: Json };
}

export type FeishuApi = ReturnType<typeof openApi>;
/** The open platform as one app. Calls reject with a `SendError`, of which `feishuCode` tells Feishu's number for it. */
export function openApi(options: Options, { SendError }: ChannelKit) {
  const cache = new DefaultCache();
  const client = new Client({ ...options, cache, logger: QUIET });
  const failureOf = ({ message = '', code: thrown = '', response }: Thrown): Error => {
    const { status = 0, headers } = response ?? {};
    const said = response?.data as { readonly code?: number; readonly msg?: string } | undefined;
    // Where the secret is refused, the number stands in the text only.
    const code = said?.code ?? Number(/\bcode: (?<code>\d+)/u.exec(message)?.groups?.['code'] ?? 0);
    const reason = said?.code === undefined ? `Feishu failed: ${message}` : `Feishu answered ${code}: ${said.msg}`;
    const error = (failure: ConstructorParameters<typeof SendError>[0], options = {}): Error =>
      Object.assign(new SendError(failure, reason, options), { feishuCode: code });
    const retryAfterMs = 1_000 * (Number(headers?.['x-ogw-ratelimit-reset']) || 1);
    if (STALE_TOKEN.has(code)) cache.values.clear();
    if (status === 429 || THROTTLED.has(code) || STALE_TOKEN.has(code)) return error('retryable', { retryAfterMs });
    if (SECRET_REFUSED.has(code)) return error('revoked');
    if (code !== 0 && status < 500) return error(BLOCKED.has(code) ? 'blocked' : 'permanent');
    return error(UNSENT.test(thrown) ? 'retryable' : 'uncertain');
  };
  const run = async <T>(work: (client: Client) => Promise<T>): Promise<T> =>
    await work(client).catch((error: unknown) => {
      throw error instanceof SendError ? error : failureOf(error as Thrown);
    });
  /** `how` may have `params`, `data`, `headers` and `signal`. Resolves with the `data` of the answer, if it has any. */
  const call = async (method: string, path: string, how: Json = {}): Promise<Json> => {
    const request = { method, url: `/open-apis/${path}`, timeout: 30_000, ...how };
    const answer = await run(() => client.request<Json>(request));
    if (answer['code'] !== 0) throw failureOf({ response: { status: 200, data: answer } });
    return (answer['data'] as Json | undefined) ?? answer;
  };
  return { run, call };
}

export const feishuCode = (error: unknown): number => (error as { readonly feishuCode?: number }).feishuCode ?? 0;
