import { ownWork } from '../../core/bus/origins.ts';
import { plural } from '../../core/util/text.ts';
import { startOfDay } from '../../core/util/time-zone.ts';
import { note, ok, skipped, warning, type Found } from '../../core/util/finding.ts';
import { checksOn } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const spendingChecks = checksOn('models', [
  ['model.budget', 'a turn fits into each budget, and none of them is used up today', budget],
  ['model.cache', 'providers read most of the prompts of the last turns from their cache', cache],
]);

/** Tokens of the first request of a new home: the system prompt and all tools. */
const SMALLEST_REQUEST = 6_000;
/** A turn with tools has several requests, so this many should fit into a budget. */
const ENOUGH_REQUESTS = 20;
/** Model calls that are looked at, and the share of their input that should come from a cache. */
const CACHE = { calls: 60, enough: 20, share: 0.3, smallTokens: 2_000 };

async function budget({ program, loaded, journal, gateway, clock, command }: Scene): Promise<readonly Found[]> {
  if (loaded === null) return [];
  const { budget: limits, timezone } = loaded.config.agent;
  const request = await smallestRequest({ gateway, journal });
  const findings: Found[] = [];
  const raise = (key: string, to: number): string => command(`config set agent.budget.${key} ${to}`);
  const needs: readonly (readonly [string, number | null])[] = [
    ['turnTokens', limits.turnTokens],
    ['dayTokens', limits.dayTokens],
    ['jobTokens', limits.jobTokens],
    ['selfDayTokens', limits.selfDayTokens],
  ];
  const small = needs.filter(([, limit]) => limit !== null && limit < request);
  for (const [key, limit] of small) {
    const isForPeople = key === 'turnTokens' || key === 'dayTokens';
    const say = isForPeople ? warning : note;
    const what = isForPeople ? 'no turn fits into it' : 'no scheduled job and no heartbeat fits into it';
    findings.push(
      say(
        `agent.budget.${key} is ${limit}, but one request has about ${request} tokens: ${what}.`,
        raise(key, ENOUGH_REQUESTS * request),
      ),
    );
  }
  if (journal === null) return findings.length === 0 ? [ok('A turn fits into each budget.')] : findings;
  const since = startOfDay(clock.now(), timezone);
  const all = journal.spentSince(since);
  const self = journal.spentSince(since, ownWork(program.origins));
  const used: readonly (readonly [string, number | null, number])[] = [
    ['dayTokens', limits.dayTokens, all.tokens],
    ['dayUsd', limits.dayUsd, all.costUsd],
    ['selfDayTokens', limits.selfDayTokens, self.tokens],
  ];
  for (const [key, limit, spent] of used) {
    if (limit === null || spent < limit || small.some(([name]) => name === key)) continue;
    const amount = key.endsWith('Usd') ? `$${spent.toFixed(2)} of $${limit}` : `${spent} of ${limit} tokens`;
    findings.push(
      warning(`Today’s budget is used up until tomorrow: ${amount} (agent.budget.${key}).`, raise(key, 2 * limit)),
    );
  }
  if (findings.length > 0) return findings;
  return [
    ok(
      all.tokens === 0
        ? 'A turn fits into each budget.'
        : `${all.tokens} tokens were used today, within each budget (see ${command('status')}).`,
    ),
  ];
}

/** What a turn needs at least, tokens: what the gateway would send now, else the least of the last calls. */
async function smallestRequest({ gateway, journal }: Pick<Scene, 'gateway' | 'journal'>): Promise<number> {
  const now = await gateway?.requestTokens().catch(() => null);
  if (typeof now === 'number' && now > 0) return now;
  const before = (journal?.calls(CACHE.calls) ?? [])
    .filter(({ source }) => source === 'user')
    .map(({ usage }) => usage.input);
  return before.length === 0 ? SMALLEST_REQUEST : Math.min(...before);
}

function cache({ journal }: Scene): readonly Found[] {
  if (journal === null) return [];
  const calls = journal
    .calls(CACHE.calls)
    .filter(({ source, usage }) => source === 'user' && usage.input >= CACHE.smallTokens);
  if (calls.length < CACHE.enough) return [skipped('There were too few model calls to tell.')];
  const input = calls.reduce((sum, { usage }) => sum + usage.input, 0);
  const cached = calls.reduce((sum, { usage }) => sum + usage.cached, 0);
  const share = Math.round((100 * cached) / input);
  if (share >= 100 * CACHE.share)
    return [ok(`${share}% of the input of the last ${calls.length} calls came from a cache.`)];
  const why =
    cached === 0
      ? 'the provider reports no cache, or something changes the beginning of each prompt'
      : 'something changes the beginning of each prompt, or the pauses between turns are long';
  return [
    note(
      `Only ${share}% of the input of the last ${plural(calls.length, 'call')} came from a cache: ${why}.`,
      'Set log.level to "debug" and look for “prompt cache” in the log',
    ),
  ];
}
