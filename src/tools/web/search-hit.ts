/** One result of a web search, as strangers wrote it. */
export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}
