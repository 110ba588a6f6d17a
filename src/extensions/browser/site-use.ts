import { RecentMap } from '../../core/api.ts';
import { siteOf } from '../../core/api-tools.ts';

/** How often something is chosen on a site without a question, as with addresses that untrusted content names. */
const FREE = 3;
const MOST_SESSIONS = 1_024;
const MOST_SITES = 256;

interface Use {
  chosen: number;
  isAllowed: boolean;
}

/**
 * How often each conversation chose something on a site: which of many buttons is pressed can spell out a secret to the
 * site. It outlives the browser, because what was read stays in the conversation.
 */
export class SiteUse {
  readonly #sessions = new RecentMap<string, RecentMap<string, Use>>(MOST_SESSIONS);

  /** Whether the next choice has to be asked about. */
  isUsedUp(sessionKey: string, url: string): boolean {
    const use = this.#use(sessionKey, url);
    return !use.isAllowed && use.chosen >= FREE;
  }

  chose(sessionKey: string, url: string): void {
    this.#use(sessionKey, url).chosen += 1;
  }

  /** A person said yes to what is done on the site: choices are free from then on. */
  allow(sessionKey: string, url: string): void {
    this.#use(sessionKey, url).isAllowed = true;
  }

  forget(sessionKey: string): void {
    this.#sessions.delete(sessionKey);
  }

  #use(sessionKey: string, url: string): Use {
    const site = siteOf(url);
    const sites = this.#sessions.get(sessionKey) ?? new RecentMap<string, Use>(MOST_SITES);
    this.#sessions.set(sessionKey, sites);
    const use = sites.get(site) ?? { chosen: 0, isAllowed: false };
    sites.set(site, use);
    return use;
  }
}
