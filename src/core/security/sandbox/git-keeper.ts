import { realpath, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { replaceDurable } from '../../storage/files.ts';
import { sleep, type Clock } from '../../util/clock.ts';
import { pin } from '../paths/pinned.ts';
import { withoutPrograms } from './git-settings.ts';
import { within } from '../paths/rules.ts';
import { leadsOutOf, readGitFiles, type GitFile } from './repositories.ts';

/** What a command made git run, and what was undone. */
export interface TakenBack {
  /** Below the workspace. */
  readonly path: string;
  /** What git would have run. */
  readonly runs: readonly string[];
  readonly found: GitFile;
  /** What lies there since; null: nothing. */
  readonly left: GitFile | null;
}

/** One command's stretch of time. */
export interface GitWatch {
  /** To be called once, when the command has ended: what was undone since it began. */
  end(): Promise<readonly TakenBack[]>;
}

/** How often the repositories are looked at while commands run. */
const LOOK_EVERY_MS = 5_000;
const MOST_KEPT = 100;

/**
 * Keeps commands that hold text from strangers from planting programs for the owner's git. What makes git run a program
 * (a setting, a hook, a file that leads git elsewhere) and was not there when the first of them began is undone: while
 * they run every five seconds, and when one ends. Everything else in a repository stays as the command left it.
 */
export class GitKeeper {
  readonly #folder: string;
  readonly #clock: Clock;
  /** Real. */
  #workspace = '';
  #before: Map<string, GitFile> = new Map();
  readonly #lists = new Set<TakenBack[]>();
  #watching = 0;
  #stop = new AbortController();
  #looking: Promise<unknown> = Promise.resolve();

  constructor(workspace: string, clock: Clock) {
    this.#folder = workspace;
    this.#clock = clock;
  }

  /** Resolves when the command may start. */
  async begin(): Promise<GitWatch> {
    await this.#inTurn(async () => {
      if (this.#watching === 0) {
        this.#workspace = await realpath(this.#folder);
        this.#before = new Map(await readGitFiles(this.#workspace));
        this.#stop = new AbortController();
        void this.#lookAgain(this.#stop.signal);
      }
      this.#watching += 1;
    });
    const undone: TakenBack[] = [];
    this.#lists.add(undone);
    return {
      end: async () => {
        try {
          await this.#inTurn(() => this.#look());
        } finally {
          this.#lists.delete(undone);
          this.#watching -= 1;
          if (this.#watching === 0) this.#stop.abort();
        }
        return undone;
      },
    };
  }

  /** Puts back what was undone, because a person allowed it; returns the paths where something else lies by now. */
  async allow(items: readonly TakenBack[]): Promise<readonly string[]> {
    return await this.#inTurn(async () => {
      const files = await readGitFiles(this.#workspace, this.#before);
      const changed: string[] = [];
      for (const { path, found, left } of items) {
        const place = join(this.#workspace, path);
        if (!isDeepStrictEqual(files.get(place)?.content, left?.content)) {
          changed.push(path);
          continue;
        }
        this.#before.set(place, found);
        await this.#write(place, found);
      }
      return changed;
    });
  }

  async #lookAgain(signal: AbortSignal): Promise<void> {
    for (;;) {
      await sleep(this.#clock, LOOK_EVERY_MS, signal).catch(() => {});
      if (signal.aborted) return;
      await this.#inTurn(() => this.#look()).catch(() => {});
    }
  }

  async #look(): Promise<void> {
    const failures: unknown[] = [];
    for (const [path, found] of await readGitFiles(this.#workspace, this.#before)) {
      const before = this.#before.get(path);
      const runs = found.runs.filter((one) => before?.runs.includes(one) !== true);
      if (runs.length === 0) continue;
      // The same text may lead elsewhere now, because a folder on its way became a link.
      const isSame = before !== undefined && isDeepStrictEqual(before.content, found.content);
      const left = isSame || before === undefined ? harmless(path, found, this.#workspace) : before;
      // The remembered settings are harmful now, so later changes are compared with what is left of them.
      if (isSame) {
        if (left === null) this.#before.delete(path);
        else this.#before.set(path, left);
      }
      await this.#write(path, left).catch((error: unknown) => failures.push(error));
      const item = { path: relative(this.#workspace, path), runs, found, left };
      for (const list of this.#lists) if (list.length < MOST_KEPT) list.push(item);
    }
    if (failures.length > 0) throw new AggregateError(failures, 'What git would run could not be undone everywhere.');
  }

  /** Writes into the pinned folder of the path, so that swapping the folder has no effect. Null: removes the file. */
  async #write(path: string, file: GitFile | null): Promise<void> {
    using folder = await pin(dirname(path), { noFollow: true });
    if (folder.path !== dirname(path) || !within(this.#workspace, folder.path)) return;
    const place = folder.at(basename(path));
    if (file === null || 'link' in file.content) await rm(place, { force: true, recursive: true });
    if (file === null) return;
    if ('link' in file.content) await symlink(file.content.link, place);
    else await replaceDurable(place, file.content.bytes, { mode: file.content.mode });
  }

  /** One after the other: looking changes what is found. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = this.#looking.then(work);
    this.#looking = mine.catch(() => {});
    return await mine;
  }
}

/** What is kept of a new file: of a settings file the settings that run nothing; null for any other file. */
function harmless(path: string, { content }: GitFile, workspace: string): GitFile | null {
  if ('link' in content || !/^config(?:\.worktree)?$/u.test(basename(path))) return null;
  const bytes = Buffer.from(withoutPrograms(content.bytes.toString('utf8'), leadsOutOf(workspace, path)));
  return { content: { bytes, mode: content.mode }, runs: [] };
}
