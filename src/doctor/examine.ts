import { createRedactor } from '../core/security/redact/redact.ts';
import { collectSecrets } from '../core/config/secrets.ts';
import { deadline, raceAbort } from '../core/util/clock.ts';
import { errorCode, errorMessage } from '../core/util/errors.ts';
import { isOfMachine } from './checks.ts';
import { note, ok, skipped, warning, type Found } from '../core/util/finding.ts';
import { knownOf, type Check } from '../core/doctor/check.ts';
import type { Scene } from '../core/doctor/scene.ts';

/** Milliseconds for one check that reaches a server or starts a program, and for all together. */
const LIVE_MS = 10_000;
const ALL_MS = 30_000;

/** A finding with the check that it is of. */
export interface Examined extends Found {
  readonly check: Check;
}

export interface Examination {
  /** In the order of the checks. */
  readonly findings: readonly Examined[];
  /** What was mended, one sentence each. */
  readonly mended: readonly string[];
}

export interface ExamineOptions {
  /** Leaves out what reaches servers or starts programs. */
  readonly offline: boolean;
  /** Mends what can be mended without a risk. */
  readonly fix: boolean;
  /** Milliseconds for one live check. @default 10,000 */
  readonly liveMs?: number;
}

/** Looks at everything, and mends what it may. Changes nothing without `fix`. Never rejects for the state of a home. */
export async function examine(scene: Scene, { offline, fix, liveMs = LIVE_MS }: ExamineOptions): Promise<Examination> {
  using all = deadline(scene.clock, ALL_MS, 'the examination');
  const run = (check: Check): Promise<readonly Examined[]> =>
    runCheck(check, { scene, offline, liveMs, all: all.signal });
  // What blocks the event loop comes first, so that it takes nothing from the deadlines of the others.
  const checks = scene.isMachine ? scene.checks.filter(isOfMachine) : scene.checks;
  const found = new Map<Check, readonly Examined[]>();
  for (const check of checks.filter(({ live }) => live !== true)) found.set(check, await run(check));
  const live = checks.filter((check) => check.live === true);
  await Promise.all(live.map(async (check) => void found.set(check, await run(check))));
  const mended: string[] = [];
  if (fix) {
    for (const check of checks) {
      const findings: Examined[] = [];
      for (const finding of found.get(check) ?? []) findings.push(await mend(finding, mended));
      found.set(check, findings);
    }
  }
  const redact = createRedactor(scene.loaded?.secrets ?? collectSecrets({}, scene.env, []));
  const clean = (finding: Examined): Examined => ({
    ...finding,
    says: redact(finding.says),
    remedy: finding.remedy === null ? null : redact(finding.remedy),
  });
  return {
    findings: checks.flatMap((check) => found.get(check) ?? []).map(clean),
    mended: mended.map((sentence) => redact(sentence)),
  };
}

/** Repairs what can be repaired, and tells `mended` of it. */
async function mend(finding: Examined, mended: string[]): Promise<Examined> {
  if (finding.repair === undefined) return finding;
  try {
    const says = await finding.repair();
    mended.push(says);
    return { ...ok(says), check: finding.check };
  } catch (error) {
    mended.push(`Not mended: ${errorMessage(error)}.`);
    return finding;
  }
}

async function runCheck(
  check: Check,
  {
    scene,
    offline,
    liveMs,
    all,
  }: { readonly scene: Scene; readonly offline: boolean; readonly liveMs: number; readonly all: AbortSignal },
): Promise<readonly Examined[]> {
  const isLive = check.live === true;
  if (check.only?.(scene) === false) return [];
  const known = knownOf(scene.known, check.id);
  const withKnown = (found: readonly Found[]): readonly Examined[] => {
    // A check looks closer than the gateway: what it finds itself counts.
    const isFine = found.every(({ state }) => state === 'ok' || state === 'skipped');
    return (isFine && known.length > 0 ? known : found).map((finding) => ({ ...finding, check }));
  };
  if (isLive && offline) return withKnown([skipped('Not looked at, because of --offline.')]);
  using own = isLive ? deadline(scene.clock, liveMs, check.id) : undefined;
  const signal = own === undefined ? all : AbortSignal.any([own.signal, all]);
  try {
    return withKnown(await raceAbort(Promise.resolve(check.run(scene, signal)), signal));
  } catch (error) {
    return [{ ...unknown(error, signal.aborted ? liveMs : null, scene), check }];
  }
}

/** Why a check could not be made. */
function unknown(error: unknown, lateMs: number | null, { journal, command }: Scene): Found {
  if (lateMs !== null) return warning(`There was no answer within ${lateMs / 1000} seconds.`, command('doctor'));
  if (errorCode(error) === 'ERR_SQLITE_ERROR') {
    const isOlder = journal !== null && journal.schema < journal.newestSchema;
    return skipped(`The journal ${isOlder ? 'is of an older version' : 'could not be read'}.`);
  }
  return note(`This could not be looked at: ${errorMessage(error).replace(/\.$/u, '')}.`);
}
