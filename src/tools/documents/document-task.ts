import type { LinePage, PageWish } from './line-page.ts';
import type { DocumentText } from './pdf-text.ts';

/** What a thread is given. `lines`: a text file that is too large to be looked through where others wait. */
export type DocumentTask =
  | {
      readonly kind: 'pdf' | 'docx';
      readonly bytes: Uint8Array;
      readonly mostChars: number;
      readonly budgetMs: number;
    }
  | { readonly kind: 'lines'; readonly bytes: Uint8Array; readonly wish: PageWish };

/** With the SHA-256 of its bytes in hex; null: they are nothing but white space. */
export type Hashed<T> = T & { readonly hash: string | null };

export type DocumentAnswer<Task extends DocumentTask> = Hashed<
  Task extends { readonly kind: 'lines' } ? LargeText : DocumentText
>;

export interface LargeText {
  /** Null: it is binary. */
  readonly page: LinePage | null;
  /** How it is encoded. */
  readonly encoding: string;
}
