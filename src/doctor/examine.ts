import { createRedactor } from '../core/security/redact/redact.ts';
import { collectSecrets } from '../core/config/secrets.ts';
import { deadline, raceAbort } from '../core/util/clock.ts';
import { errorCode, errorMessage } from '../core/util/errors.ts';
import { isOfMachine } from './checks.ts';
import { note, skipped, warning, type Check, type Finding } from './check.ts';
import type { Scene } from './scene.ts';

/** Milliseconds for one check that reaches a server or starts a program, and for all together. */
const LIVE_MS = 10_000;
const ALL_MS = 30_000;

/** A finding with the check that it is of. */
export interface Examined extends Finding {
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
      const repairs = (found.get(check) ?? []).flatMap(({ repair }) => (repair === undefined ? [] : [repair]));
      if (repairs.length === 0) continue;
      for (const repair of repairs) mended.push(await done(repair));
      found.set(check, await run(check));
    }
  }
  const redact = createRedactor(scene.loaded?.secrets ?? collectSecrets({}, scene.env, []));
  const clean = (finding: Examined): Examined => ({
    ...finding,
    evidence: redact(finding.evidence),
    remedy: finding.remedy === null ? null : redact(finding.remedy),
  });
  return {
    findings: checks.flatMap((check) => found.get(check) ?? []).map(clean),
    mended: mended.map((sentence) => redact(sentence)),
  };
}

async function done(repair: () => Promise<string>): Promise<string> {
  try {
    return await repair();
  } catch (error) {
    return `Not mended: ${errorMessage(error)}.`;
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
  if (isLive && offline) return [{ ...skipped('Not looked at, because of --offline.'), check }];
  using own = isLive ? deadline(scene.clock, liveMs, check.id) : undefined;
  const signal = own === undefined ? all : AbortSignal.any([own.signal, all]);
  try {
    const findings = await raceAbort(Promise.resolve(check.run(scene, signal)), signal);
    return findings.map((finding) => ({ ...finding, check }));
  } catch (error) {
    return [{ ...unknown(error, signal.aborted ? liveMs : null, scene), check }];
  }
}

/** Why a check could not be made. */
function unknown(error: unknown, lateMs: number | null, { journal, command }: Scene): Finding {
  if (lateMs !== null) return warning(`There was no answer within ${lateMs / 1000} seconds.`, command('doctor'));
  if (errorCode(error) === 'ERR_SQLITE_ERROR') {
    const isOlder = journal !== null && journal.schema < journal.newestSchema;
    return skipped(`The journal ${isOlder ? 'is of an older version' : 'could not be read'}.`);
  }
  return note(`This could not be looked at: ${errorMessage(error).replace(/\.$/u, '')}.`);
}
