import type { InboundMessage, Role } from '../../bus/messages.ts';
import { isOwnWork, ownWork } from '../../bus/origins.ts';
import type { App } from '../../app.ts';
import { addSums, NOTHING, sumOfCall, type UsageSum } from '../../journal/usage.ts';
import type { Pricing } from '../../providers/pricing.ts';
import type { ModelName } from '../../providers/provider.ts';
import type { TapeEntry } from '../../session/entry.ts';
import { countText, dollars } from '../../util/text.ts';
import { startOfDay } from '../../util/time-zone.ts';
import { errorMessage } from '../../util/errors.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { Usage } from '../../util/token-usage.ts';
import { outboundTo } from '../outgoing.ts';
import { subagentOf, type SubagentTask } from '../subagents/task.ts';

/** The limits of `agent.budget`; null: no limit. */
export interface BudgetLimits {
  readonly turnUsd: number | null;
  readonly chatDayUsd: number | null;
  readonly dayUsd: number | null;
  readonly turnTokens: number | null;
  readonly dayTokens: number | null;
  /** Tokens a day for work that the assistant starts by itself. */
  readonly selfDayTokens: number;
  /** Tokens a day for all guests together. */
  readonly guestDayTokens: number | null;
  /** Tokens for one run of a scheduled job or heartbeat. */
  readonly jobTokens: number;
}

/** The turn (or other work) that calls a model. */
export interface Spender {
  readonly turnId: string;
  readonly sessionKey: string;
  readonly role: Role;
  readonly messages: readonly InboundMessage[];
  /** The entries of the turn that are on its tape. */
  readonly entries: readonly TapeEntry[];
  /** For a call outside of a turn: what it is for. Such a call counts as self-started if it has no messages. */
  readonly source?: string;
}

interface Rule {
  readonly key: keyof BudgetLimits;
  readonly span: 'turn' | 'chat' | 'day';
  readonly used: number;
  readonly limit: number;
}

/** The name of guests' calls in the usage rows. */
const GUEST = 'guest';
const DAY_BUDGETS = ['dayUsd', 'dayTokens', 'selfDayTokens', 'guestDayTokens'] as const;
type DayBudget = (typeof DAY_BUDGETS)[number];

/** Share of a daily budget at which the owner is warned. */
const WARN_AT = 0.8;
/** Share of a common budget at which self-started work stops, so that the rest is left for people. */
const SELF_STOPS_AT = 0.95;
/** Turns whose sums are kept in memory. */
const RUNNING_TURNS = 1024;

/**
 * Counts the tokens and the cost of model calls and enforces the budgets. The sums of a day are kept in memory, so that
 * asking before each call needs no query.
 */
export class Budget {
  readonly #app: App;
  readonly #pricing: Pricing;
  readonly #turns = new RecentMap<string, UsageSum>(RUNNING_TURNS);
  readonly #warned = new RecentMap<string, true>(1024);
  /** Tokens that running calls of guests are expected to use, by turn. */
  readonly #reserved = new Map<string, number>();

  constructor(app: App, pricing: Pricing) {
    this.#app = app;
    this.#pricing = pricing;
  }

  /**
   * Null if the next model call is within all budgets; else a sentence that says which budget is used up. A guest's call
   * of which the tokens are `expected` keeps them from other guests until `release`.
   */
  async refusal(spender: Spender, expected = 0): Promise<string | null> {
    const self = this.#isSelfStarted(spender);
    this.release(spender.turnId);
    const rules = this.#rules(spender);
    const isGuest = isGuests(spender);
    const reserved = isGuest ? [...this.#reserved.values()].reduce((sum, tokens) => sum + tokens, 0) : 0;
    if (expected > 0 && isGuest) this.#reserved.set(spender.turnId, expected);
    for (const rule of rules) {
      const shared = rule.span !== 'turn' && rule.key !== 'selfDayTokens';
      const running = rule.key === 'guestDayTokens' ? reserved : 0;
      if (rule.used + running >= rule.limit * (self && shared ? SELF_STOPS_AT : 1)) {
        this.release(spender.turnId);
        if (rule.key === 'guestDayTokens' && rule.used >= rule.limit) await this.#tellOfGuests(rule);
        return sentence(rule, spender.role);
      }
      if (rule.span !== 'turn' && rule.used >= rule.limit * WARN_AT) await this.#warn(rule, spender);
    }
    return null;
  }

  /** The turn's call is over and counted. */
  release(turnId: string): void {
    this.#reserved.delete(turnId);
  }

  /** Counts a model call, by the provider's own cost if it told one; one of a subagent also counts for the turn that spawned it. Does not wait for the disk. */
  record(spender: Spender, name: ModelName, usage: Usage): void {
    this.count(spender, name, usage, usage.costUsd ?? this.#pricing.costOf(name, usage));
  }

  /** Counts a call of which the cost is known otherwise; null: it is not known. As `record`. */
  count(spender: Spender, { provider, model }: ModelName, usage: Usage, costUsd: number | null): void {
    const { journal, log } = this.#app;
    const ledger = journal.usage;
    const sum = sumOfCall({ usage, costUsd });
    this.#turns.set(spender.turnId, addSums(this.spent(spender), sum));
    const task = subagentOf(spender.messages[0]);
    if (task !== null) this.#turns.set(task.turn, addSums(this.#spentBy(task), sum));
    const { turn: turnId, session } = task ?? { turn: spender.turnId, session: spender.sessionKey };
    const source = isGuests(spender) ? GUEST : (spender.source ?? this.#sourceOf(originOf(spender)));
    ledger
      .record({ turnId, session, source, provider, model, usage, costUsd })
      .catch((error: unknown) => log.error('budget: tokens of a call not counted', { reason: errorMessage(error) }));
  }

  /** The sum of a turn's model calls, including those before a crash. */
  spent(spender: Spender): UsageSum {
    const known = this.#turns.get(spender.turnId);
    if (known !== undefined) return known;
    const began = spender.entries[0];
    const sum =
      began === undefined ? NOTHING : this.#app.journal.usage.ofTurn(spender.turnId, spender.sessionKey, began.at);
    this.#turns.set(spender.turnId, sum);
    return sum;
  }

  /** What the turn that spawned a subagent has spent so far, with all its subagents. */
  #spentBy({ turn, session, since }: SubagentTask): UsageSum {
    const sum = this.#turns.get(turn) ?? this.#app.journal.usage.ofTurn(turn, session, since);
    this.#turns.set(turn, sum);
    return sum;
  }

  /** The budgets of a whole day that are set, and how much of each is used today. */
  today(): readonly { readonly key: DayBudget; readonly limit: number; readonly used: number }[] {
    const { budget: limits, timezone } = this.#app.config.agent;
    const { clock } = this.#app;
    const since = startOfDay(clock.now(), timezone);
    return DAY_BUDGETS.flatMap((key) => {
      const limit = limits[key];
      return limit === null ? [] : [{ key, limit, used: this.#usedOn(since, key) }];
    });
  }

  #usedOn(since: number, key: DayBudget): number {
    const day = this.#app.journal.usage.day(since);
    switch (key) {
      case 'dayUsd':
        return day.total.costUsd;
      case 'dayTokens':
        return tokensOf(day.total);
      case 'guestDayTokens':
        return tokensOf(day.of(GUEST));
      case 'selfDayTokens':
        return ownWork(this.#app.program.origins).reduce((sum, name) => sum + tokensOf(day.of(name)), 0);
    }
  }

  #rules(spender: Spender): readonly Rule[] {
    const { budget: limits, timezone } = this.#app.config.agent;
    const { clock } = this.#app;
    const ledger = this.#app.journal.usage;
    const rules: Rule[] = [];
    const add = (key: Rule['key'], span: Rule['span'], used: () => number): void => {
      const limit = limits[key];
      if (limit !== null) rules.push({ key, span, limit, used: used() });
    };
    const task = subagentOf(spender.messages[0]);
    const origin = task?.origin ?? originOf(spender);
    const ofTurn = (): UsageSum => (task === null ? this.spent(spender) : this.#spentBy(task));
    const since = startOfDay(clock.now(), timezone);
    add('turnUsd', 'turn', () => ofTurn().costUsd);
    add('turnTokens', 'turn', () => tokensOf(ofTurn()));
    if (this.#app.program.origins.of(origin).isAsked !== true) add('jobTokens', 'turn', () => tokensOf(ofTurn()));
    if (this.#isSelfStarted(spender)) {
      add('selfDayTokens', 'day', () => this.#usedOn(since, 'selfDayTokens'));
    }
    if (isGuests(spender)) add('guestDayTokens', 'day', () => this.#usedOn(since, 'guestDayTokens'));
    add('dayTokens', 'day', () => this.#usedOn(since, 'dayTokens'));
    add('dayUsd', 'day', () => this.#usedOn(since, 'dayUsd'));
    add('chatDayUsd', 'chat', () => ledger.day(since).ofSession(task?.session ?? spender.sessionKey).costUsd);
    return rules;
  }

  #isSelfStarted(spender: Spender): boolean {
    if (spender.source !== undefined && spender.messages.length === 0) return true;
    return isOwnWork(this.#app.program.origins.of(originOf(spender)));
  }

  /** The name of an origin in the journal's usage rows. */
  #sourceOf(origin: string): string {
    return this.#app.program.origins.of(origin).countsAs ?? origin;
  }

  /** Warns the owner once per budget and day, in the chat where the owner is writing. */
  async #warn(rule: Rule, spender: Spender): Promise<void> {
    const target = spender.messages.at(-1);
    if (target === undefined || spender.role !== 'owner' || target.chatType !== 'direct') return;
    const share = Math.floor((100 * rule.used) / rule.limit);
    const text = `${share}% of ${nameOf(rule)} is used: ${amount(rule, rule.used)} of ${amount(rule, rule.limit)} (\`agent.budget.${rule.key}\`).`;
    await this.#tell(rule, { target, text, place: rule.span === 'chat' ? `:${spender.sessionKey}` : '' });
  }

  async #tellOfGuests(rule: Rule): Promise<void> {
    const target = this.#app.people.ownersChat();
    if (target === undefined) return;
    const text = `Guests have used up today’s budget for guests (${amount(rule, rule.limit)}), so they get no more answers until tomorrow. To raise it, set \`agent.budget.${rule.key}\` in the configuration.`;
    await this.#tell(rule, { target, text, place: '' });
  }

  /** Queues a notice once per budget and day, also across restarts, because its id is fixed. */
  async #tell(
    rule: Rule,
    { target, text, place }: { readonly target: InboundMessage; readonly text: string; readonly place: string },
  ): Promise<void> {
    const { bus, clock, config, log } = this.#app;
    const day = new Date(startOfDay(clock.now(), config.agent.timezone)).toISOString();
    const id = `budget:${rule.key}:${day}${place}`;
    if (this.#warned.get(id) === true) return;
    this.#warned.set(id, true);
    log.warn('budget: nearly or fully used up', { budget: rule.key, used: rule.used, limit: rule.limit });
    try {
      await bus.publishOutbound(outboundTo(target, { id, kind: 'notice', text }, clock.now()));
    } catch (error) {
      this.#warned.delete(id);
      log.error('budget: warning not queued', { reason: errorMessage(error) });
    }
  }
}

/** The cost in dollars; null when there were no calls or the price of one is unknown. */
export function costOf({ calls, costUsd, unpriced }: UsageSum): number | null {
  return calls === 0 || unpriced > 0 ? null : costUsd;
}

function tokensOf({ usage }: UsageSum): number {
  return usage.input + usage.output;
}

/** A turn of a person who is a guest, or a summary of what guests said; webhooks have limits of their own. */
function isGuests({ role, source, messages }: Spender): boolean {
  if (role !== 'guest') return false;
  if (source === 'memory') return messages.every((message) => message.role === 'guest');
  return messages[0]?.origin === 'user' && source === undefined;
}

function originOf({ messages }: Spender): string {
  return messages[0]?.origin ?? 'system';
}

function nameOf({ key, span }: Rule): string {
  switch (span) {
    case 'turn':
      return key === 'jobTokens' ? 'the budget of this job' : 'the budget of one turn';
    case 'chat':
      return 'today’s budget of this chat';
    case 'day':
      if (key === 'guestDayTokens') return 'today’s budget for guests';
      return key === 'selfDayTokens' ? 'today’s budget for work that I start myself' : 'today’s budget';
  }
}

function sentence(rule: Rule, role: Role): string {
  const what = `I stopped because ${nameOf(rule)} is used up`;
  if (role !== 'owner') return `${what}. The owner can raise it.`;
  const until = rule.span === 'turn' ? '' : ', or wait for tomorrow';
  return `${what}: ${amount(rule, rule.used)} of ${amount(rule, rule.limit)}. Raise \`agent.budget.${rule.key}\` in the configuration${until}.`;
}

function amount({ key }: Rule, value: number): string {
  if (!key.endsWith('Usd')) return `${countText(Math.round(value))} tokens`;
  return dollars(value);
}
