import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../config/temporary-home.ts';
import { writeProgram } from '../support/program-file.ts';

const LAUNCHER = fileURLToPath(new URL('../../src/launcher.cjs', import.meta.url));
/** `nobody` of the usual systems. */
const OTHER_USER = 65_534;

/** Runs a program as a user who is not root; nothing where the tests themselves are no root's. */
export const ASANOTHER: readonly string[] =
  process.getuid?.() === 0 ? ['setpriv', `--reuid=${OTHER_USER}`, `--regid=${OTHER_USER}`, '--clear-groups'] : [];

/** Why no person who is not root can be had here; undefined: one can. */
export const noOtherUser = ((): string | undefined => {
  const [program, ...args] = [...ASANOTHER, process.execPath, LAUNCHER, '--version'];
  const { error, status } = spawnSync(program ?? '', args);
  if (error === undefined && status === 0) return undefined;
  return `another user cannot run the program: ${error?.message ?? `it ended with ${status}`}`;
})();

/** A systemd of one person that starts, in the background, what the unit of that person says. */
export class OwnSystemd implements Disposable {
  readonly folder = temporaryFolder();
  readonly home = join(this.folder, 'ann/.assistant');
  readonly unit = join(this.folder, 'ann/.config/systemd/user/assistant.service');
  readonly env: Readonly<Record<string, string>>;
  readonly #pid = join(this.folder, 'ann/pid');

  constructor() {
    const [bin, ann] = [join(this.folder, 'bin'), join(this.folder, 'ann')];
    for (const folder of [bin, ann, this.home]) mkdirSync(folder);
    chmodSync(this.folder, 0o755);
    if (process.getuid?.() === 0) for (const folder of [ann, this.home]) chownSync(folder, OTHER_USER, OTHER_USER);
    const value = (key: string): string => `$(sed -n 's/^${key}=-\\?//p' ${this.unit})`;
    const start = `set -a; . "${value('EnvironmentFile')}"; ${value('Environment')}; set +a; exec "${value('ExecStart')}"`;
    writeProgram(
      join(bin, 'systemctl'),
      `#!/bin/sh
case "$*" in
  *Version*) echo 252 ;;
  *restart*)
    # A restart ends what ran before. The pid is that of its group.
    [ ! -f ${this.#pid} ] || kill -KILL -- -$(cat ${this.#pid}) 2>/dev/null
    env -i PATH=/usr/bin:/bin HOME=${ann} setsid sh -c '${start.replaceAll("'", String.raw`'\''`)}' > ${ann}/log 2>&1 < /dev/null &
    echo $! > ${this.#pid} ;;
esac
`,
    );
    writeProgram(join(bin, 'loginctl'), '#!/bin/sh\necho yes\n');
    this.env = {
      HOME: ann,
      ASSISTANT_HOME: this.home,
      XDG_CONFIG_HOME: join(ann, '.config'),
      XDG_RUNTIME_DIR: this.folder,
      PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin`,
    };
  }

  /** Ends the service before its folder is removed: without its configuration it would go on at the usual port. */
  [Symbol.dispose](): void {
    if (existsSync(this.#pid)) spawnSync('kill', ['-KILL', '--', `-${readFileSync(this.#pid, 'utf8').trim()}`]);
  }
}
