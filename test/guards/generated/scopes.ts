const COMMANDS = ['security/commands', 'security/commands-ask', 'security/commands-traps'] as const;
const FETCH = [
  'security/fetch-urls',
  'security/fetch-addresses',
  'security/fetch',
  'security/fetch-caps',
  'security/fetch-packed',
] as const;
const PATHS = ['security/paths', 'security/paths-places', 'security/paths-walls', 'security/paths-race'] as const;
const SANDBOX = [
  'security/sandbox-arguments',
  'security/sandbox-probe',
  'security/sandbox',
  'security/sandbox-limits',
] as const;

type Tests = readonly [string, ...string[]];

/** Files and folders of which every decision is a guard, and the tests of which one has to fail without it. */
const EVERY: Readonly<Record<string, Tests>> = {
  'agent/given-texts.ts': ['agent/taint-session', 'agent/given-texts'],
  'agent/hooks.ts': ['agent/hooks'],
  'agent/joining.ts': ['agent/joining'],
  'agent/question-answers.ts': ['agent/question-answers', 'agent/question-words'],
  'agent/question-text.ts': ['agent/question-text', 'agent/questions'],
  'agent/questions.ts': ['agent/questions', 'agent/questions-silence', 'e2e/questions', 'e2e/answers'],
  'agent/subagents/task.ts': ['e2e/subagents'],
  'agent/user-message.ts': ['agent/user-message-walls', 'agent/taint-message', 'agent/user-message'],
  'channels/group-talk.ts': ['channels/group-talk'],
  'gateway/control-server.ts': ['gateway/control', 'gateway/control-walls'],
  'gateway/server.ts': ['gateway/server-walls', 'gateway/server'],
  'gateway/token.ts': ['gateway/server-walls'],
  'journal/allowances.ts': ['agent/question-answers'],
  'journal/answers.ts': ['agent/question-answers', 'agent/question-words'],
  'journal/pairing.ts': ['journal/people'],
  'journal/questions.ts': ['agent/question-answers', 'agent/questions-silence', 'agent/questions'],
  'security/access.ts': ['security/access'],
  'security/approval-hash.ts': ['security/approval-hash-shape', 'security/approval-hash'],
  'security/commands/ask': ['security/commands-ask', 'security/commands-traps'],
  'security/commands/exact.ts': ['security/exact-commands'],
  'security/commands/find.ts': COMMANDS,
  'security/commands/prefix.ts': ['security/prefix'],
  'security/commands/rules.ts': COMMANDS,
  'security/commands/targets.ts': COMMANDS,
  'security/descriptors.ts': PATHS,
  'security/fetch.ts': FETCH,
  'security/fetch/addresses.ts': FETCH,
  'security/fetch/body-stream.ts': ['security/stream-fetch'],
  'security/fetch/body.ts': FETCH,
  'security/fetch/connect.ts': FETCH,
  'security/fetch/exchange.ts': FETCH,
  'security/fetch/guarded.ts': FETCH,
  'security/fetch/host-list.ts': FETCH,
  'security/fetch/host-names.ts': FETCH,
  'security/fetch/request.ts': FETCH,
  'security/fetch/target.ts': FETCH,
  'security/fetch/url-rules.ts': FETCH,
  'security/git-settings.ts': ['tools/exec-git'],
  'security/guarded-walk.ts': ['security/guarded-walk', 'tools/files/glob'],
  'security/invisible.ts': ['security/untrusted'],
  'security/look-alike-hosts.ts': ['agent/question-text'],
  'security/look-alikes.ts': ['security/untrusted'],
  'security/named-files.ts': ['security/named-files', 'security/approval-hash'],
  'security/path-checks.ts': PATHS,
  'security/path-errors.ts': PATHS,
  'security/path-inodes.ts': PATHS,
  'security/path-names.ts': PATHS,
  'security/path-rules.ts': PATHS,
  'security/paths.ts': PATHS,
  'security/redact': ['security/redact', 'security/redact-shell', 'security/redact-tokens', 'security/redact-growing'],
  'security/redact.ts': ['security/redact', 'security/redact-growing'],
  'security/sandbox.ts': SANDBOX,
  'security/sandbox/arguments.ts': SANDBOX,
  'security/sandbox/filter.ts': SANDBOX,
  'security/sandbox/repositories.ts': ['tools/exec-git'],
  'security/stream-fetch.ts': ['security/stream-fetch'],
  'security/taint.ts': ['security/taint'],
  'security/untrusted.ts': ['security/untrusted'],
  'security/url-origin.ts': ['security/taint'],
  'security/visible.ts': ['tools/exec'],
  'skills/allowed-tools.ts': ['skills/allowed-tools'],
  'skills/plain-words.ts': ['skills/plain-words'],
  'skills/walk.ts': ['skills/catalog'],
  'storage/named-places.ts': ['storage/untrusted-files'],
  'storage/untrusted-files.ts': ['storage/untrusted-files'],
  'tools/asked.ts': ['tools/asked', 'tools/registry'],
  'tools/exec-standing.ts': ['tools/exec-asked'],
  'tools/exec-taint.ts': ['tools/file-taint', 'tools/exec-asked'],
  'tools/exec-watch.ts': ['tools/exec-limits'],
  'tools/file-access.ts': ['tools/file-walls', 'tools/file-taint', 'tools/read-file', 'tools/edit-file'],
  'tools/file-taint.ts': ['tools/file-taint'],
  'tools/memory-write.ts': ['tools/memory-write', 'tools/file-walls'],
  'tools/message.ts': ['tools/message', 'e2e/heartbeat'],
  'tools/policy.ts': ['tools/registry'],
  'tools/run-once.ts': ['tools/registry'],
  'tools/skill-limits.ts': ['tools/skill-limits', 'e2e/skills'],
  'tools/tainted-call.ts': ['tools/tainted-call', 'tools/asked'],
  'tools/web/hidden.ts': ['tools/web-page-text'],
  'tools/web/links.ts': ['tools/web-page-text'],
};

/** Those of which only what refuses, asks or names trust is one. */
const REFUSING: Readonly<Record<string, Tests>> = {
  'agent/active-skills.ts': ['agent/active-skills'],
  'agent/archive-memory.ts': ['agent/archiving-memory'],
  'agent/budget.ts': ['e2e/subagents'],
  'agent/command-runner.ts': ['e2e/roles-group', 'e2e/roles', 'e2e/audit'],
  'agent/commands/pair.ts': ['e2e/pairing'],
  'agent/commands/parse.ts': ['agent/bursts', 'e2e/pressed-words'],
  'agent/commands/table.ts': ['e2e/roles', 'e2e/owners'],
  'agent/loop-guard.ts': ['agent/loop-guard'],
  'agent/loop.ts': ['agent/loop-roles'],
  'agent/prompt.ts': ['agent/system-prompt'],
  'agent/subagents/desk.ts': ['e2e/subagents'],
  'agent/subagents/outcome.ts': ['e2e/subagents'],
  'agent/tape-actions.ts': ['agent/tape-actions'],
  'agent/tool-calls.ts': ['agent/tool-calls'],
  'agent/turn-messages.ts': ['e2e/taint', 'e2e/taint-bits'],
  'agent/turn-runner.ts': ['e2e/roles-group'],
  'agent/turn.ts': ['e2e/taint', 'e2e/taint-bits', 'e2e/roles-group'],
  'app/prompt.ts': ['e2e/roles'],
  'app/tools.ts': ['e2e/web-hosts'],
  'automation/heartbeat.ts': ['automation/heartbeat'],
  'channels/discord/inbound.ts': ['channels/discord-inbound'],
  'channels/discord/listener.ts': ['e2e/discord'],
  'channels/discord/send.ts': ['channels/discord-send'],
  'channels/markup/html.ts': ['channels/markup-telegram'],
  'channels/markup/parser.ts': ['channels/markup-telegram'],
  'channels/slack/channel.ts': ['e2e/slack'],
  'channels/slack/files.ts': ['e2e/slack'],
  'channels/slack/home.ts': ['e2e/slack'],
  'channels/slack/inbound.ts': ['e2e/slack', 'contract/slack'],
  'channels/slack/outgoing.ts': ['e2e/slack'],
  'channels/slack/threads.ts': ['e2e/slack'],
  'channels/telegram/channel.ts': ['channels/telegram-receive', 'channels/telegram-send', 'channels/telegram-heard'],
  'channels/telegram/inbound.ts': ['channels/telegram-inbound', 'channels/telegram-heard'],
  'cli/pair.ts': ['cli/pair'],
  'cli/skills.ts': ['cli/skills'],
  'journal/inbox.ts': [
    'journal/inbox-walls',
    'agent/questions-silence',
    'e2e/retention',
    'journal/journal',
    'e2e/answers',
  ],
  'journal/people.ts': ['journal/people'],
  'journal/stop.ts': ['journal/stop-request', 'journal/stop', 'e2e/subagents'],
  'journal/subagents.ts': ['e2e/subagents'],
  'memory/search-find.ts': ['memory/search'],
  'memory/search-tape.ts': ['memory/search'],
  'security/commands': COMMANDS,
  'security/commands.ts': COMMANDS,
  'security/fetch': FETCH,
  'security/file-peek.ts': ['security/named-files', 'security/approval-hash'],
  'security/sandbox': SANDBOX,
  'security/sandbox/git-keeper.ts': ['tools/exec-git'],
  'skills/catalog.ts': ['skills/foreign'],
  'skills/install.ts': ['skills/install'],
  'skills/plain-file.ts': ['skills/install'],
  'skills/skills-index.ts': ['skills/skills-index'],
  'skills/yaml.ts': ['skills/yaml-bomb'],
  'storage/audit-log.ts': ['storage/audit-log'],
  'storage/files.ts': ['storage/files'],
  'storage/lock.ts': ['storage/lock'],
  'storage/open-database.ts': ['journal/schema'],
  'tools/arguments.ts': ['tools/arguments'],
  'tools/documents/document-reader.ts': ['tools/documents/document-process'],
  'tools/exec-run.ts': ['tools/exec'],
  'tools/exec.ts': ['tools/exec', 'tools/exec-asked', 'e2e/roles', 'tools/exec-group', 'tools/file-taint'],
  'tools/files/apply-patch.ts': ['tools/files/apply-patch'],
  'tools/files/finding.ts': ['tools/files/grep'],
  'tools/list-dir.ts': ['tools/file-walls'],
  'tools/mcp/connect.ts': ['mcp/broken-servers', 'mcp/local-servers'],
  'tools/mcp/room.ts': ['mcp/pins'],
  'tools/mcp/stdio.ts': ['mcp/local-servers'],
  'tools/mcp/tools.ts': ['mcp/pins', 'mcp/room-walls'],
  'tools/memory-search.ts': ['tools/memory-search'],
  'tools/read-file.ts': ['tools/read-documents'],
  'tools/registry.ts': [
    'tools/registry-run',
    'tools/registry',
    'e2e/audit',
    'tools/tainted-call',
    'tools/arguments',
    'e2e/skills',
    'tools/asked',
  ],
  'tools/skill.ts': ['tools/skill'],
  'tools/tape.ts': ['tools/tape'],
  'tools/web-fetch.ts': ['tools/web-fetch', 'tools/web-walls'],
  'tools/web-search.ts': ['tools/web-search', 'tools/web-walls'],
  'tools/web/read-page.ts': ['tools/web-page-text'],
  'tools/web/selection.ts': ['tools/web-selection'],
};

/** What is looked at for guards. */
interface Scope {
  /** A file or folder below `src`. */
  readonly under: string;
  /** Below `test`, in the order in which they are tried. */
  readonly tests: Tests;
  readonly every: boolean;
}

export const SCOPES: readonly Scope[] = [scopesOf(EVERY, true), scopesOf(REFUSING, false)].flat();

function scopesOf(table: Readonly<Record<string, Tests>>, every: boolean): readonly Scope[] {
  return Object.entries(table).map(([under, [first, ...others]]) => ({
    under,
    tests: [testFile(first), ...others.map(testFile)],
    every,
  }));
}

function testFile(name: string): string {
  return `${name}.test.ts`;
}

/** The narrowest scope that a file below `src` lies in. */
export function scopeOf(file: string): Scope | undefined {
  const around = SCOPES.filter(({ under }) => file === under || file.startsWith(`${under}/`));
  return around.toSorted((a, b) => b.under.length - a.under.length)[0];
}
