/** How the body of an HTTP response is to be turned into text. */
export interface PageTask {
  readonly kind: 'html' | 'text' | 'pdf';
  /** Charset named by the server; null: none. */
  readonly charset: string | null;
  /** Address of the page, against which relative links are resolved. */
  readonly url: string;
  /** True: read it without a parser, in linear time. */
  readonly simple: boolean;
  /** Time for reading a PDF; after it the pages read so far are returned. */
  readonly budgetMs: number;
}

/** The text of a page. All of it is untrusted content. */
export interface PageText {
  readonly title: string | null;
  /** Markdown for HTML; plain text otherwise. */
  readonly text: string;
  /** Date of publication in the page's own words; null: it names none. */
  readonly published: string | null;
  /** Number of parts that were left out because people cannot see them. */
  readonly hidden: number;
  /** True: read without a parser, so menus and the like are still in it. */
  readonly simple: boolean;
  /** True: the page is longer than the text that was read. */
  readonly cut: boolean;
}
