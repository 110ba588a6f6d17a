import { LogLevel, webApi, type Logger as SlackLogger } from '@slack/bolt';
import { type Permit, permittedRequests } from '../../core/api-channels.ts';
import type { SlackOptions } from './options.ts';

/** What the app may do, as in the manifest of docs/slack.md. */
const SCOPES = [
  'app_mentions:read',
  'channels:history',
  'channels:read',
  'chat:write',
  'commands',
  'files:read',
  'files:write',
  'groups:history',
  'groups:read',
  'im:history',
  'im:read',
  'mpim:history',
  'mpim:read',
  'reactions:read',
  'reactions:write',
  'users:read',
];

const CALL_DEADLINE_MS = 10_000;
/** Delivery cuts an upload off much earlier, by its size. */
const UPLOAD_DEADLINE_MS = 3_600_000;

export type SlackClient = webApi.WebClient;

type ClientSettings = Pick<SlackOptions, 'apiUrl'> & {
  /** @default always permitted */
  readonly permit?: Permit;
};

/** What goes wrong is told by errors; the SDK's own words may hold what people wrote. */
export function quietLogger(): SlackLogger {
  const nothing = (): void => {};
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: nothing,
    setLevel: nothing,
    getLevel: () => LogLevel.ERROR,
    setName: nothing,
  };
}

/** Each call is made once: the SDK cannot tell whether Slack took a message before the line broke. */
export function clientOptions({ apiUrl, permit }: ClientSettings): webApi.WebClientOptions {
  return {
    ...(permit === undefined ? {} : { fetch: permittedFetch(permit) }),
    ...(apiUrl == null ? {} : { slackApiUrl: apiUrl }),
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: CALL_DEADLINE_MS,
    logger: quietLogger(),
  };
}

function permittedFetch(permit: Permit): webApi.FetchFunction {
  const through: object = { dispatcher: permittedRequests(permit) };
  return (url, init) => fetch(url, { ...init, ...through });
}

export function openSlackClient(options: Pick<SlackOptions, 'botToken'> & ClientSettings): SlackClient {
  return new webApi.WebClient(options.botToken, clientOptions(options));
}

/** For calls that take as long as their bytes. */
export function openUploadClient(options: Pick<SlackOptions, 'botToken'> & ClientSettings): SlackClient {
  return new webApi.WebClient(options.botToken, { ...clientOptions(options), timeout: UPLOAD_DEADLINE_MS });
}

/** What the token of the bot lacks; nothing when Slack did not say what it has. */
export function missingScopes(granted: readonly string[] | undefined): readonly string[] {
  return granted === undefined ? [] : SCOPES.filter((scope) => !granted.includes(scope));
}
