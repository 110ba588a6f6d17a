import * as z from 'zod';
import { deadline, raceAbort, type Clock, RecentMap } from '../../core/api.ts';
import type { SlackClient } from './web-client.ts';

/** Most people whose names are cached. */
const MOST = 2_000;
/** Slack wants an event acknowledged within 3 s, so a name that takes longer than this is left out. */
const LOOKUP_DEADLINE_MS = 1_500;
const FRESH_MS = 24 * 3_600_000;
/** Wait before a name that could not be fetched is asked for again. */
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

/** Cache of people's display names by user id, because Slack's events hold only ids. */
export class UserNames {
  readonly #client: SlackClient;
  readonly #clock: Clock;
  readonly #known = new RecentMap<string, Known>(MOST);

  constructor(client: SlackClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** The cached name; undefined when it is not known. Makes no call. */
  nameOf(id: string): string | undefined {
    return this.#known.get(id)?.name;
  }

  /** Asks Slack for the names that are not cached. Never rejects; takes at most 1.5 s. */
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
