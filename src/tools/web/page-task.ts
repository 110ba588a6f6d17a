/** How the bytes of an answer are read. */
export interface PageTask {
  readonly kind: 'html' | 'text' | 'pdf';
  /** As the server says it. */
  readonly charset: string | null;
  /** Where it was found; relative links start from it. */
  readonly url: string;
  /** Without a parser, in time that grows with the length alone. */
  readonly simple: boolean;
  /** In which a PDF is read as far as it goes. */
  readonly budgetMs: number;
}

/** What it makes of it: everything here is text of strangers. */
export interface PageText {
  readonly title: string | null;
  /** Markdown, or the text as it is. */
  readonly text: string;
  /** When it was published, as the page says it. */
  readonly published: string | null;
  /** Parts that people do not see, left out. */
  readonly hidden: number;
  /** A page that was read without a parser: nothing was left out as unimportant. */
  readonly simple: boolean;
  /** There was more than is read. */
  readonly cut: boolean;
}
