import { statfs } from 'node:fs/promises';
import type { ChannelManager } from '../channels/manager.ts';
import type { HealthFacts } from '../gateway/operations/health.ts';
import type { Journal } from '../journal/journal.ts';
import type { Sandbox } from '../security/sandbox/sandbox.ts';
import { sentences } from '../util/text.ts';
import type { ProviderResults } from './agent/provider-results.ts';
import type { Base } from './base.ts';
import type { BrowserPart } from './tools/browser.ts';
import { storageLine } from './status.ts';

export interface HealthParts {
  readonly journal: Journal;
  readonly manager: ChannelManager;
  readonly runningTurns: () => number;
  readonly sandbox: Sandbox | null;
  readonly browser: Pick<BrowserPart, 'trouble'> | null;
  /** What the person should know now, one sentence each. */
  readonly troubles: () => readonly string[];
  readonly providers: ProviderResults;
}

/** Whether everything works, for /status, the page and programs. */
export async function healthOf(base: Base, parts: HealthParts): Promise<HealthFacts> {
  const { clock, version, startedAt, warnings, storage, redact, paths } = base;
  const { journal, manager } = parts;
  const outbox = journal.deadLetters.undelivered();
  const all = [...outbox.values()];
  const { state, reason } = storage.state;
  const browser = (await parts.browser?.trouble()) ?? null;
  return {
    startedAt,
    channels: Object.entries(manager.health()).map(([name, { state: how, detail }]) => ({
      name,
      state: how,
      // What a platform said of an error may hold anything.
      detail: detail === undefined ? null : redact(detail),
      queued: outbox.get(name)?.waiting ?? 0,
    })),
    queues: {
      runningTurns: parts.runningTurns(),
      inbound: journal.inbox.counts()['accepted'] ?? 0,
      outbound: all.reduce((sum, { waiting }) => sum + waiting, 0),
      deadLetters: all.reduce((sum, { dead }) => sum + dead, 0),
    },
    sandbox: await sandboxState(base, parts.sandbox),
    versions: { assistant: version, node: process.versions.node, sqlite: process.versions['sqlite'] ?? 'unknown' },
    disk: { ...(await diskSpace(paths.home)), state, reason },
    storage: storageLine(journal.retention.last(), clock.now()),
    providers: parts.providers.list(),
    warnings: [...warnings, ...parts.troubles(), ...(browser === null ? [] : [browser])],
  };
}

async function diskSpace(folder: string): Promise<Pick<HealthFacts['disk'], 'freeBytes' | 'totalBytes'>> {
  try {
    const { bavail, blocks, bsize } = await statfs(folder);
    return { freeBytes: bavail * bsize, totalBytes: blocks * bsize };
  } catch {
    // A disk that does not even tell this has its state, and the rest of the answer is needed all the more.
    return { freeBytes: null, totalBytes: null };
  }
}

async function sandboxState({ config }: Base, sandbox: Sandbox | null): Promise<HealthFacts['sandbox']> {
  const { mode } = config.tools.exec;
  if (mode === 'off') return { state: 'off', detail: 'no commands (tools.exec.mode)' };
  if (sandbox === null) {
    const detail = mode === 'full' ? 'no sandbox, no questions' : 'no sandbox, each command asks';
    return { state: 'missing', detail };
  }
  const probe = await sandbox.probe();
  if (probe.available) return { state: 'available', detail: ['in the sandbox', ...probe.notes].join('; ') };
  const { reason, remedy } = probe;
  const why = sentences(reason, remedy === undefined ? '' : `To change that: ${remedy}`);
  return { state: 'missing', detail: `no sandbox, each command asks: ${why}` };
}
