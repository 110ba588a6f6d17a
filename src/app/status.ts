import type { StatusReport } from '../agent/commands/command.ts';
import type { PromptReport } from '../agent/commands/context.ts';
import { subagentLines } from '../agent/subagents/supervisor.ts';
import type { ChannelManager } from '../channels/manager.ts';
import type { HealthFacts } from '../gateway/operations/health.ts';
import type { Journal } from '../journal/journal.ts';
import { speechText, voiceText } from '../providers/speech-servers.ts';
import { startOfDay } from '../util/time-zone.ts';
import { countText, megabytes } from '../util/text.ts';
import type { MeaningState } from '../memory/meaning/meaning.ts';
import type { Base } from './base.ts';
import { healthOfChannelsOff } from './channels.ts';
import { searchText } from './memory/embedder.ts';
import type { SweepReport } from '../journal/retention.ts';

const HOUR_MS = 3_600_000;

export interface StatusParts {
  readonly journal: Journal;
  readonly manager: ChannelManager;
  readonly health: () => Promise<HealthFacts>;
  readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  readonly heartbeat: () => string | null;
  readonly meaning: () => MeaningState | null;
}

/** How things stand, as /status tells it. */
export async function statusOf(base: Base, sessionKey: string, parts: StatusParts): Promise<StatusReport> {
  const { clock, config, version } = base;
  const { journal, manager } = parts;
  const day = journal.usage.day(startOfDay(clock.now(), config.agent.timezone));
  const prompt = await parts.prompt(sessionKey);
  const { queues, storage, sandbox, warnings } = await parts.health();
  return {
    version,
    model: prompt.model,
    context: prompt.tokens,
    uptimeMs: base.uptimeMs(),
    runningTurns: queues.runningTurns,
    waitingMessages: queues.inbound,
    waitingReplies: queues.outbound,
    hereToday: day.ofSession(sessionKey),
    today: day.total,
    heartbeat: parts.heartbeat(),
    subagentsHere: subagentLines(journal.subagents, { session: sessionKey, now: clock.now() }),
    subagents: subagentLines(journal.subagents, { session: null, now: clock.now() }),
    storage,
    voice: voiceText(config),
    speech: speechText(config),
    search: searchText(config, parts.meaning()),
    channels: { ...manager.health(), ...healthOfChannelsOff(config) },
    sandbox: sandbox.detail,
    warnings: [...warnings, ...(prompt.fewTools === null ? [] : [prompt.fewTools])],
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
