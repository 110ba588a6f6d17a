import * as z from 'zod';
import { deadline, raceAbort, type Clock } from '../../util/clock.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { SlackClient } from './web-client.ts';

/** People who are remembered. */
const MOST = 2_000;
/** Slack wants an answer within 3 s: what is not known by then goes without. */
const LOOKUP_DEADLINE_MS = 1_500;
const FRESH_MS = 24 * 3_600_000;
/** Nobody is asked about again sooner whose name could not be had. */
const RETRY_MS = 300_000;

const answer = z.object({
  user: z.object({
    name: z.string().optional(),
    real_name: z.string().optional(),
    profile: z.object({ display_name: z.string().optional(), real_name: z.string().optional() }).prefault({}),
  }),
});

interface Known {
  readonly name: string | undefined;
  /** By `Clock.monotonic`. */
  readonly until: number;
}

/** What people are called: Slack's events say only their ids. */
export class UserNames {
  readonly #client: SlackClient;
  readonly #clock: Clock;
  readonly #known = new RecentMap<string, Known>(MOST);

  constructor(client: SlackClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  nameOf(id: string): string | undefined {
    return this.#known.get(id)?.name;
  }

  /** Asks Slack for those that are not known. Never rejects; takes no longer than a person waits. */
  async learn(ids: readonly string[]): Promise<void> {
    const now = this.#clock.monotonic();
    const unknown = ids.filter((id) => (this.#known.get(id)?.until ?? -Infinity) <= now);
    if (unknown.length === 0) return;
    using limit = deadline(this.#clock, LOOKUP_DEADLINE_MS, 'Asking Slack for a name');
    await Promise.all(unknown.map((id) => this.#ask(id, limit.signal)));
  }

  async #ask(id: string, signal: AbortSignal): Promise<void> {
    let name: string | undefined;
    try {
      const { user } = answer.parse(await raceAbort(this.#client.users.info({ user: id }), signal));
      name = [user.profile.display_name, user.profile.real_name, user.real_name, user.name].find(Boolean);
    } catch {
      name = this.#known.get(id)?.name;
    }
    const freshMs = name === undefined ? RETRY_MS : FRESH_MS;
    this.#known.set(id, { name, until: this.#clock.monotonic() + freshMs });
  }
}
