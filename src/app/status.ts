import type { StatusReport } from '../agent/commands/command.ts';
import type { PromptReport } from '../agent/commands/context.ts';
import { subagentLines } from '../agent/subagents/supervisor.ts';
import type { ChannelManager } from '../channels/manager.ts';
import type { Journal } from '../journal/journal.ts';
import type { Sandbox } from '../security/sandbox/sandbox.ts';
import { startOfDay } from '../util/time-zone.ts';
import { countText, megabytes, sentences } from '../util/text.ts';
import type { Base } from './base.ts';
import type { SweepReport } from '../journal/retention.ts';

const HOUR_MS = 3_600_000;

export interface StatusParts {
  readonly journal: Journal;
  readonly manager: ChannelManager;
  readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  readonly runningTurns: () => number;
  readonly sandbox: Sandbox | null;
  /** What the person should know now, one sentence each. */
  readonly troubles: () => readonly string[];
  readonly heartbeat: () => string | null;
}

async function sandboxState({ config }: Base, sandbox: Sandbox | null): Promise<string> {
  const { mode } = config.tools.exec;
  if (mode === 'off') return 'no commands (tools.exec.mode)';
  if (sandbox === null) return mode === 'full' ? 'no sandbox, no questions' : 'no sandbox, each command asks';
  const probe = await sandbox.probe();
  if (!probe.available) {
    const { reason, remedy } = probe;
    return `no sandbox, each command asks: ${sentences(reason, remedy === undefined ? '' : `To change that: ${remedy}`)}`;
  }
  return ['in the sandbox', ...probe.notes].join('; ');
}

/** How things stand, as /status tells it. */
export async function statusOf(base: Base, sessionKey: string, parts: StatusParts): Promise<StatusReport> {
  const { clock, config, version, startedAt, warnings } = base;
  const { journal, manager } = parts;
  const day = journal.usage.day(startOfDay(clock.now(), config.agent.timezone));
  const prompt = await parts.prompt(sessionKey);
  return {
    version,
    model: prompt.model,
    context: prompt.tokens,
    uptimeMs: clock.now() - startedAt,
    runningTurns: parts.runningTurns(),
    waitingMessages: journal.inbox.counts()['accepted'] ?? 0,
    waitingReplies: Object.values(journal.outbox.counts()).reduce((sum, count) => sum + count, 0),
    hereToday: day.ofSession(sessionKey),
    today: day.total,
    heartbeat: parts.heartbeat(),
    subagentsHere: subagentLines(journal.subagents, { session: sessionKey, now: clock.now() }),
    subagents: subagentLines(journal.subagents, { session: null, now: clock.now() }),
    storage: storageLine(journal.retention.last(), clock.now()),
    channels: manager.health(),
    sandbox: await sandboxState(base, parts.sandbox),
    warnings: [...warnings, ...parts.troubles(), ...(prompt.fewTools === null ? [] : [prompt.fewTools])],
  };
}

/** How large each store is and what went last, for people; null before the first sweep. */
export function storageLine(report: SweepReport | undefined, now: number): string | null {
  if (report === undefined) return null;
  const { at, bytes, removed } = report;
  const sizes = Object.entries(bytes)
    .filter(([, size]) => size > 0)
    .toSorted(([, a], [, b]) => b - a)
    .map(([store, size]) => `${store} ${megabytes(size)}`);
  const total = Object.values(bytes).reduce((sum, size) => sum + size, 0);
  const gone = Object.entries(removed).map(([store, count]) => `${countText(count)} ${store}`);
  const when = now - at < HOUR_MS ? 'within the last hour' : `${Math.floor((now - at) / HOUR_MS)} h ago`;
  return `${megabytes(total)} (${sizes.join(', ')}); cleaned up ${when}, ${gone.length === 0 ? 'nothing was old enough to be removed' : `gone: ${gone.join(', ')}`}`;
}
