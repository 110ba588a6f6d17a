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
  'users:read',
];

/** What the token of the bot lacks; nothing when Slack did not say what it has. */
export function missingScopes(granted: readonly string[] | undefined): readonly string[] {
  return granted === undefined ? [] : SCOPES.filter((scope) => !granted.includes(scope));
}
