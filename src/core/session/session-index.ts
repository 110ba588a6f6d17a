import type { SessionFacts, SessionsPage } from '../gateway/operations/sessions.ts';
import { saidIn } from './entry.ts';
import { listTapes, readTape, type SessionInfo } from './reader.ts';
import { ifThere } from '../storage/files.ts';
import { isEphemeral } from '../util/ephemeral-session.ts';
import { RecentMap } from '../util/recent-map.ts';
import { oneLine } from '../util/text.ts';

const LONGEST_TITLE = 80;
/** Bytes at the end of a tape in which its title is looked for. */
const TITLE_BYTES = 524_288;
const KNOWN_TITLES = 2_000;

/** The sessions of a home for lists, a page at a time. The title of one is read when it is on a page, and again when its tape changed. */
export class SessionIndex {
  readonly #folder: string;
  readonly #running: () => ReadonlySet<string>;
  readonly #titles = new RecentMap<string, { readonly stamp: string; readonly title: string }>(KNOWN_TITLES);

  /** `running`: keys of the sessions that have a turn. */
  constructor(folder: string, running: () => ReadonlySet<string>) {
    this.#folder = folder;
    this.#running = running;
  }

  /** The latest first, without those of programs that are removed after a day; `before` is `next` of the page before. */
  async page({
    limit,
    before,
    channel,
  }: {
    readonly limit: number;
    readonly before?: string;
    readonly channel?: string;
  }): Promise<SessionsPage> {
    const all = (await listTapes(this.#folder)).filter(({ key }) =>
      channel === undefined ? !isEphemeral(key) : channelOf(key) === channel,
    );
    const after = before === undefined ? undefined : parseCursor(before);
    const rest = all.filter((session) => after === undefined || compare(after, session) < 0).sort(compare);
    const shown = rest.slice(0, limit);
    const running = this.#running();
    const sessions = await Promise.all(
      shown.map(async ({ key, changedAt, size }): Promise<SessionFacts> => ({
        session: key,
        channel: channelOf(key),
        title: await this.#title({ key, changedAt, size }),
        changedAt,
        size,
        running: running.has(key),
      })),
    );
    const last = shown.at(-1);
    return { sessions, next: last === undefined || rest.length === shown.length ? null : cursorOf(last) };
  }

  async #title({ key, size, changedAt }: Omit<SessionInfo, 'path'>): Promise<string> {
    const stamp = `${size} ${changedAt}`;
    const known = this.#titles.get(key);
    if (known?.stamp === stamp) return known.title;
    const title = (await ifThere(readTitle(this.#folder, key))) ?? '';
    this.#titles.set(key, { stamp, title });
    return title;
  }
}

/** The first words of the newest text of a person; '' when the end of the tape holds none. */
async function readTitle(folder: string, key: string): Promise<string> {
  for await (const entry of readTape(folder, key, { mostBytes: TITLE_BYTES })) {
    if (entry.kind !== 'message' || entry.role !== 'user' || entry.sources.length === 0) continue;
    const title = oneLine(saidIn(entry), LONGEST_TITLE);
    if (title !== '') return title;
  }
  return '';
}

type Place = Pick<SessionInfo, 'key' | 'changedAt'>;

function compare(a: Place, b: Place): number {
  return b.changedAt - a.changedAt || (a.key < b.key ? -1 : a.key === b.key ? 0 : 1);
}

function cursorOf({ key, changedAt }: Place): string {
  return `${changedAt} ${key}`;
}

function parseCursor(cursor: string): Place {
  const [changedAt = '', ...key] = cursor.split(' ');
  return { changedAt: Number(changedAt) || 0, key: key.join(' ') };
}

function channelOf(key: string): string {
  return key.split(':')[0] ?? key;
}
