import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CommandLine } from '../cli/command-line.ts';
import { writeProgram } from '../support/program-file.ts';

/** A command line on a machine whose systemctl, journalctl and so on write down how they were called. */
export class ServiceMachine {
  readonly line: CommandLine;
  readonly folder: string;
  readonly #bin: string;
  readonly #calls: string;
  /** The person's own folder, and what stands for `/`. */
  readonly userHome: string;
  readonly root: string;
  readonly home: string;

  constructor(options: { readonly terminal?: boolean } = {}) {
    this.line = new CommandLine(options);
    this.folder = this.line.home;
    const at = (name: string): string => join(this.folder, name);
    this.#bin = at('fake-bin');
    this.#calls = at('calls');
    this.userHome = at('anna');
    this.root = at('root');
    this.home = join(this.userHome, '.assistant');
    for (const folder of [this.#bin, this.userHome, this.root]) mkdirSync(folder);
    this.line.host = { ...this.line.host, userHome: this.userHome, root: this.root };
    this.line.env = {
      ASSISTANT_HOME: this.home,
      PATH: `${this.#bin}:/usr/bin:/bin`,
      XDG_RUNTIME_DIR: '/run/user/1000',
      ANTHROPIC_API_KEY: 'sk-ant-of-this-terminal',
    };
    this.program('systemctl', this.#answers('not-found', 'inactive'));
    this.program('loginctl', 'case "$1" in show-user) echo yes ;; esac');
    this.program('journalctl', 'echo "2026-11-23 ready"');
    this.program('id', 'echo 998');
  }

  /** Puts a program in front of the PATH: its call is written down, then the script runs. */
  program(name: string, script: string): void {
    const log = `{ echo "${name} $*"; env | grep -i api_key; } >> ${this.#calls}`;
    writeProgram(join(this.#bin, name), `#!/bin/sh\n${log}\n${script}\n`);
  }

  /** systemctl of a machine where the service is in this state. */
  state(load: string, active: string, more = ''): void {
    this.program('systemctl', this.#answers(load, active, more));
  }

  get calls(): readonly string[] {
    return existsSync(this.#calls) ? readFileSync(this.#calls, 'utf8').trim().split('\n') : [];
  }

  /** Only the calls of these programs that change something. */
  get changes(): readonly string[] {
    return this.calls.filter((call) => !/ show(?:-user)? |^id /u.test(call));
  }

  #answers(load: string, active: string, more = ''): string {
    return `case "$*" in
  *Version*) echo 252 ;;
  *LoadState,*) printf '%s\\n' LoadState=${load} ActiveState=${active} SubState=running UnitFileState=enabled ${more} ;;
  *LoadState*) echo LoadState=${load} ;;
esac`;
  }
}
