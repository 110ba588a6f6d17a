/*
 * What this process and the child say to each other. The child loads this file too, so it needs no package.
 */

/** What the child is started with, as JSON in its only argument. */
export interface ChildOptions {
  /** `index.mjs` of playwright-core. */
  readonly library: string;
  /** The browser's program. */
  readonly executable: string;
  /** Folder for its profile. */
  readonly profile: string;
  /** The unix socket of the proxy: the only way out. */
  readonly socket: string;
  /** The key of the proxy, see `RunningProxy`. */
  readonly keyHash: string;
}

/** What the child is asked for. `ref`: of an element in the newest snapshot. */
export type ChildAction =
  | { readonly act: 'open'; readonly url: string }
  | { readonly act: 'snapshot' }
  | { readonly act: 'click'; readonly ref: string }
  | {
      readonly act: 'type';
      readonly fields: readonly { readonly ref: string; readonly text: string }[];
      readonly submit: boolean;
    }
  | { readonly act: 'select'; readonly ref: string; readonly options: readonly string[] }
  | { readonly act: 'press'; readonly key: string; readonly ref?: string }
  | { readonly act: 'back' }
  | { readonly act: 'scroll'; readonly up: boolean }
  | { readonly act: 'screenshot' }
  | { readonly act: 'cookies'; readonly url: string }
  | {
      readonly act: 'upload';
      readonly ref?: string;
      readonly file: { readonly name: string; readonly base64: string };
    };

/** One line to the child. */
export type ChildRequest = ChildAction & { readonly id: number };

/** A page as the child sees it. */
export interface PageView {
  readonly url: string;
  readonly title: string;
  /** The page as a tree of roles, names and refs; at most `MOST_SNAPSHOT` characters. */
  readonly snapshot: string;
  /** What happened beside, one sentence each: dialogs, new tabs, downloads. */
  readonly notes: readonly string[];
}

/** One line from the child. Number 0 tells that the browser has started, or why not. */
export type ChildReply =
  | { readonly id: number; readonly view: PageView; readonly image?: string; readonly cookies?: string }
  | { readonly id: number; readonly error: string; readonly view?: PageView };

/** Characters of a snapshot that the child gives. */
export const MOST_SNAPSHOT = 300_000;
