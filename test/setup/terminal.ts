import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { builtProgram } from '../support/built-program.ts';

const program = await builtProgram();
const TERMINAL = fileURLToPath(new URL('terminal.py', import.meta.url));
const DEADLINE_MS = 40_000;

export const ENTER = '\r';
export const UP = '\u001B[A';
export const DOWN = '\u001B[B';
export const CTRL_C = '\u0003';
export const CTRL_D = '\u0004';

/** The command line in a real pseudo-terminal, with a person who types. */
export class Terminal implements AsyncDisposable {
  readonly ended: Promise<number>;
  /** Everything that the screen got, without colours and movements. */
  screen = '';
  /** How often something was entered. */
  answers = 0;
  readonly #begun = performance.now();
  readonly #child;
  #read = 0;

  /** `under`: a program that runs the command line, with its arguments, as another user for example. */
  constructor(argv: readonly string[], env: Readonly<Record<string, string>>, under: readonly string[] = []) {
    this.#child = spawn('python3', [TERMINAL, ...under, process.execPath, program.launcher, ...argv], {
      env: program.environment({ TERM: 'xterm', LANG: 'C.UTF-8', ...env }),
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      // oxlint-disable-next-line no-control-regex
      this.screen += text.replaceAll(/\u001B\[[0-9;?]*[A-Za-z]/gu, '');
    });
    this.ended = new Promise((resolve) => this.#child.on('close', (code) => resolve(code ?? -1)));
  }

  get seconds(): number {
    return (performance.now() - this.#begun) / 1000;
  }

  /** Waits until the screen shows this, after what was waited for before. Throws with the screen after 40 s. */
  async sees(words: string): Promise<void> {
    const until = performance.now() + DEADLINE_MS;
    for (;;) {
      const at = this.screen.indexOf(words, this.#read);
      if (at !== -1) {
        this.#read = at + words.length;
        return;
      }
      if (performance.now() > until || this.#child.exitCode !== null) {
        throw new Error(`the screen does not show ${JSON.stringify(words)}:\n${this.screen}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** What is typed before an answer, as the search in a list. */
  async types(keys: string): Promise<void> {
    // The question is drawn before its keys are listened to.
    await new Promise((resolve) => setTimeout(resolve, 150));
    this.#child.stdin.write(keys);
  }

  /** Chooses the answer with this label from the list below the question that was seen last. */
  async choose(label: string): Promise<void> {
    const at = this.#read;
    await this.sees(label);
    const shown = [...this.screen.slice(at).matchAll(/(?<mark>[●○]) (?<words>[^\r\n]*)/gu)];
    const active = shown.findIndex(({ groups }) => groups?.['mark'] === '●');
    const wanted = shown.findIndex(({ groups }) => groups?.['words']?.startsWith(label));
    await this.types((wanted > active ? DOWN : UP).repeat(Math.abs(wanted - active)) + ENTER);
    this.answers += 1;
  }

  /** One answer to the question that the screen shows. */
  async answer(question: string, keys: string): Promise<void> {
    await this.sees(question);
    await this.types(keys);
    this.answers += 1;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }
}
