import { statfs } from 'node:fs/promises';
import type { App } from '../app.ts';
import type { HealthFacts } from '../gateway/operations/health.ts';
import { deadline, raceAbort } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { type Finding, sentenceOf, warning } from '../util/finding.ts';
import { sentences } from '../util/text.ts';
import { storageLine } from './status.ts';

/** How long an extension may take to say how it is. */
const LONGEST_MS = 2_000;

/** What the person should know now: the one list that the start, the status, the page and the doctor show. Never rejects. */
export async function findingsOf({ clock, plugins, findingsNow }: App): Promise<readonly Finding[]> {
  const own = await Promise.all(
    plugins.each('troubles').map(async ([name, troubles]) => {
      try {
        using limit = deadline(clock, LONGEST_MS, 'it');
        return await raceAbort(Promise.resolve(troubles()), limit.signal);
      } catch (error) {
        return [`The extension ${name} does not say how it is: ${errorMessage(error)}.`];
      }
    }),
  );
  const asFinding = (trouble: Finding | string): Finding =>
    typeof trouble === 'string' ? { id: 'gateway.warnings', ...warning(trouble) } : trouble;
  return [...findingsNow(), ...own.flat().map(asFinding)];
}

/** Whether everything works, for /status, the page and programs. */
export async function healthOf(app: App): Promise<HealthFacts> {
  const { clock, version, startedAt, storage, redact, paths, journal } = app;
  const outbox = journal.deadLetters.undelivered();
  const all = [...outbox.values()];
  const { state, reason } = storage.state;
  return {
    startedAt,
    channels: Object.entries(app.channels.manager.health()).map(([name, { state: how, detail }]) => ({
      name,
      state: how,
      // What a platform said of an error may hold anything.
      detail: detail === undefined ? null : redact(detail),
      queued: outbox.get(name)?.waiting ?? 0,
    })),
    queues: {
      runningTurns: app.turns.running.length,
      inbound: journal.inbox.counts()['accepted'] ?? 0,
      outbound: all.reduce((sum, { waiting }) => sum + waiting, 0),
      deadLetters: all.reduce((sum, { dead }) => sum + dead, 0),
    },
    sandbox: await sandboxState(app),
    versions: { assistant: version, node: process.versions.node, sqlite: process.versions['sqlite'] ?? 'unknown' },
    disk: { ...(await diskSpace(paths.home)), state, reason },
    storage: storageLine(journal.retention.last(), clock.now()),
    providers: app.providerResults.list(),
    warnings: (await findingsOf(app)).map(sentenceOf),
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

async function sandboxState({ config, sandbox }: App): Promise<HealthFacts['sandbox']> {
  const { mode } = config.tools.exec;
  if (mode === 'off') return { state: 'off', detail: 'no commands (tools.exec.mode)' };
  if (sandbox === null || mode === 'full') {
    const detail = mode === 'full' ? 'no sandbox, no questions' : 'no sandbox, each command asks';
    return { state: 'missing', detail };
  }
  const probe = await sandbox.probe();
  if (probe.available) return { state: 'available', detail: ['in the sandbox', ...probe.notes].join('; ') };
  const { reason, remedy } = probe;
  const why = sentences(reason, remedy === undefined ? '' : `To change that: ${remedy}`);
  return { state: 'missing', detail: `no sandbox, each command asks: ${why}` };
}
