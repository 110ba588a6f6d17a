/**
 * The text of an answer while it grows. A program cannot take text back that it was sent, so what a model says before a
 * tool call, and what it says anew after a failed attempt, stays and the next text follows below it.
 */
export class AnswerText {
  #text = '';
  #taken = 0;
  /** What was shown of the newest text of the model. */
  #newest = '';

  /** The newest text of the model as far as it has come. */
  show(text: string): void {
    const shown = text.trim();
    if (shown === '' || this.#newest.startsWith(shown)) return;
    if (shown.startsWith(this.#newest) && this.#newest !== '') this.#text += shown.slice(this.#newest.length);
    else this.#below(shown);
    this.#newest = shown;
  }

  /** The newest text is complete; another may follow. */
  endText(): void {
    this.#newest = '';
  }

  /** The answer is complete. `whole`: all texts; `last`: the newest of them. */
  end({ whole, last }: { readonly whole: string; readonly last: string }): void {
    if (whole.startsWith(this.#text)) this.#text = whole;
    else if (last.startsWith(this.#newest)) {
      if (this.#newest === '') this.#below(last);
      else this.#text += last.slice(this.#newest.length);
    } else this.#below(last);
  }

  /** What came since the last call; '' when nothing did. */
  take(): string {
    const fresh = this.#text.slice(this.#taken);
    this.#taken = this.#text.length;
    return fresh;
  }

  #below(text: string): void {
    this.#text += this.#text === '' || text === '' ? text : `\n\n${text}`;
  }
}
