import type { Readable, Writable } from 'node:stream';
import { autocomplete, confirm, intro, isCancel, log, outro, password, select, text } from '@clack/prompts';
import { wrapAnsi } from 'fast-wrap-ansi';

/** One thing to choose; `hint` is shown behind it. */
export interface Choice {
  readonly value: string;
  readonly label: string;
  readonly hint?: string;
}

/** A person who is asked one question at a time. Every question throws `Cancelled` at Ctrl-C. */
export interface Asker {
  choose(question: string, choices: readonly Choice[], first: string): Promise<string>;
  /** `problem` returns what is wrong with an answer, in one sentence. An empty answer is `first`. */
  text(question: string, first: string, problem: (answer: string) => string | undefined): Promise<string>;
  /** What is typed is not shown. */
  secret(question: string): Promise<string>;
  agree(question: string): Promise<boolean>;
  title(words: string): void;
  say(words: string): void;
  good(words: string): void;
  bad(words: string): void;
  /** To be copied: no frame around it. */
  plain(words: string): void;
  end(words: string): void;
}

/** The person pressed Ctrl-C. */
export class Cancelled extends Error {
  constructor() {
    super('cancelled');
    this.name = 'Cancelled';
  }
}

/** Columns of the frame before each line. */
const FRAME = 3;
/** Where the width of the terminal is not known. */
const WIDTH = 80;

/** More choices than this are searched by typing. */
const SEARCHED = 12;

/** Asks in a terminal. `clean` makes words from a server safe to show. */
export function terminalAsker(
  {
    stdin: input,
    stdout: output,
  }: { readonly stdin: Readable; readonly stdout: Writable & { readonly columns?: number } },
  clean: (words: string) => string,
): Asker {
  const streams = { input, output };
  /** Broken between words, so that each line stays within the frame. */
  const lines = (words: string): string => wrapAnsi(clean(words), (output.columns ?? WIDTH) - FRAME, { trim: false });
  const answered = <T>(answer: T): Exclude<T, symbol> => {
    if (isCancel(answer)) throw new Cancelled();
    return answer as Exclude<T, symbol>;
  };
  return {
    choose: async (message, choices, first) => {
      const options = choices.map(({ value, label, hint }) => ({
        value,
        label: clean(label),
        ...(hint === undefined ? {} : { hint: clean(hint) }),
      }));
      const asked = { ...streams, message, options, initialValue: first, maxItems: SEARCHED };
      return answered(await (options.length > SEARCHED ? autocomplete(asked) : select(asked)));
    },
    text: async (message, first, problem) => {
      const validate = (answer: string | undefined): string | undefined => problem((answer ?? '').trim() || first);
      const given = {
        ...streams,
        message,
        validate,
        ...(first === '' ? {} : { placeholder: first, defaultValue: first }),
      };
      return answered(await text(given)).trim() || first;
    },
    secret: async (message) => {
      const validate = (answer: string | undefined): string | undefined =>
        (answer ?? '').trim() === '' ? 'Paste it here, or press Ctrl-C to stop.' : undefined;
      return answered(await password({ ...streams, message, validate })).trim();
    },
    agree: async (message) => answered(await confirm({ ...streams, message })),
    title: (words) => intro(words, { output }),
    say: (words) => log.info(lines(words), { output }),
    good: (words) => log.success(lines(words), { output }),
    bad: (words) => log.error(lines(words), { output }),
    plain: (words) => void output.write(`\n${clean(words)}\n`),
    end: (words) => outro(clean(words), { output }),
  };
}
