import type { Clock } from '../../util/clock.ts';
import { RecentMap } from '../../util/recent-map.ts';
import type { PageText } from './page-task.ts';

/** A page as it was found. */
export interface FoundPage extends PageText {
  /** Where the last redirect led. */
  readonly url: string;
  readonly status: number;
  readonly mediaType: string;
}

interface Kept {
  readonly page: FoundPage;
  /** Of the clock's monotonic time. */
  readonly until: number;
  readonly bytes: number;
}

const KEPT_MS = 15 * 60_000;
const MOST_PAGES = 50;
const MOST_BYTES = 20_000_000;
const MOST_NAMES = 200;

/** Pages of the last 15 minutes in memory: at most 50 and 20 MB, the least recently read leave first. */
export class PageCache {
  readonly #clock: Clock;
  /** By the address where the page was found; the first was read longest ago. */
  readonly #pages = new Map<string, Kept>();
  /** Where an address that was asked for led. */
  readonly #names = new RecentMap<string, string>(MOST_NAMES);
  #bytes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** `asked`: the address as it was asked for, or where it was found. */
  get(asked: string): FoundPage | undefined {
    const url = this.#names.get(asked) ?? asked;
    const kept = this.#pages.get(url);
    if (kept === undefined) return undefined;
    this.#pages.delete(url);
    if (kept.until <= this.#clock.monotonic()) {
      this.#bytes -= kept.bytes;
      return undefined;
    }
    this.#pages.set(url, kept);
    return kept.page;
  }

  put(asked: string, page: FoundPage): void {
    this.#forget(page.url);
    const bytes = page.text.length * 2;
    this.#pages.set(page.url, { page, bytes, until: this.#clock.monotonic() + KEPT_MS });
    this.#bytes += bytes;
    this.#names.set(asked, page.url);
    for (const [oldest] of this.#pages) {
      if (this.#pages.size <= MOST_PAGES && this.#bytes <= MOST_BYTES) break;
      this.#forget(oldest);
    }
  }

  #forget(url: string): void {
    this.#bytes -= this.#pages.get(url)?.bytes ?? 0;
    this.#pages.delete(url);
  }
}
