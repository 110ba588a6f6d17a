import type { App } from '../app.ts';
import type { Role } from '../bus/messages.ts';
import type { StatusReport } from '../agent/commands/command.ts';
import { speechStateOf } from '../program.ts';
import { errorMessage } from '../util/errors.ts';
import { startOfDay } from '../util/time-zone.ts';
import { countText, megabytes } from '../util/text.ts';
import { healthOfChannelsOff } from './channels.ts';
import { searchText } from '../../app/memory/embedder.ts';
import type { SweepReport } from '../journal/retention.ts';

const HOUR_MS = 3_600_000;

/** How things stand, as /status tells it. */
export async function statusOf(app: App, sessionKey: string, role: Role): Promise<StatusReport> {
  const { clock, config, version, journal } = app;
  const day = journal.usage.day(startOfDay(clock.now(), config.agent.timezone));
  const prompt = await app.prompts.report(sessionKey);
  const { queues, storage, sandbox, warnings } = await app.health();
  const { voice, speech } = speechStateOf(app);
  return {
    version,
    model: prompt.model,
    context: prompt.tokens,
    uptimeMs: app.uptimeMs(),
    runningTurns: queues.runningTurns,
    waitingMessages: queues.inbound,
    waitingReplies: queues.outbound,
    hereToday: day.ofSession(sessionKey),
    today: day.total,
    own: ownLines(app, role === 'owner' ? null : sessionKey),
    storage,
    voice,
    speech,
    search: searchText(app, app.search.meaning),
    channels: { ...app.channels.manager.health(), ...healthOfChannelsOff(config) },
    sandbox: sandbox.detail,
    warnings: [...warnings, ...(prompt.fewTools === null ? [] : [prompt.fewTools])],
  };
}

function ownLines({ plugins }: App, session: string | null): StatusReport['own'] {
  const lines = plugins.each('status').map(([name, status]) => {
    // It makes no difference between people.
    if (session !== null && status.length === 0) return {};
    try {
      return status(session);
    } catch (error) {
      return { [name]: `it does not say how it is (${errorMessage(error)})` };
    }
  });
  return Object.assign({}, ...lines) as StatusReport['own'];
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
