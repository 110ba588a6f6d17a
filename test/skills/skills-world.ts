import { chmod, mkdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SkillCatalog, type SkillCatalogOptions } from '../../src/core/skills/catalog.ts';
import { planInstall } from '../../src/core/skills/install.ts';
import { addPins } from '../../src/core/skills/pins.ts';
import { recordingLog, type LogLine } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';

/** Three folders of skills, a folder of programs, and a catalog over them. */
export interface SkillsWorld extends AsyncDisposable {
  /** Real path of the folder that holds everything. */
  readonly path: string;
  readonly workspace: string;
  readonly user: string;
  readonly bundled: string;
  readonly bin: string;
  readonly lines: readonly LogLine[];
  /** Writes a file under the world's folder. */
  put(path: string, text: string): Promise<string>;
  /** Writes a skill's `SKILL.md`. */
  skill(folder: string, frontMatter: string, body?: string): Promise<string>;
  /** Puts a program on the PATH. */
  program(name: string): Promise<void>;
  /** Says yes to all that lies in `user` as it is now. */
  agree(): Promise<void>;
  open(options?: Partial<SkillCatalogOptions>): SkillCatalog;
}

export async function openSkillsWorld(): Promise<SkillsWorld> {
  const folder = await tempFolder();
  const path = await realpath(folder.path);
  const at = (name: string): string => join(path, name);
  const log = recordingLog();
  await mkdir(at('bin'));
  const put = async (name: string, text: string): Promise<string> => {
    await mkdir(dirname(at(name)), { recursive: true });
    await writeFile(at(name), text);
    return at(name);
  };
  const open: SkillsWorld['open'] = (options = {}) =>
    new SkillCatalog({
      roots: [
        { path: at('workspace'), source: 'workspace' },
        { path: at('user'), source: 'user' },
        { path: at('bundled'), source: 'package' },
      ],
      env: { PATH: at('bin') },
      config: {},
      disabled: [],
      entries: {},
      pins: at('pins.json'),
      platform: 'linux',
      log,
      ...options,
    });
  return {
    path,
    workspace: at('workspace'),
    user: at('user'),
    bundled: at('bundled'),
    bin: at('bin'),
    lines: log.lines,
    put,
    skill: (name, frontMatter, body = 'Do it.\n') => put(join(name, 'SKILL.md'), `---\n${frontMatter}\n---\n${body}`),
    program: async (name) => await chmod(await put(join('bin', name), '#!/bin/sh\n'), 0o755),
    agree: async () => {
      const { found } = await open().survey();
      const plans = await Promise.all(found.map(({ folder }) => planInstall(folder)));
      await addPins(at('pins.json'), new Map(plans.map(({ folder, pin }) => [folder, pin])), () => false);
    },
    open,
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
}

/** Front matter of an ordinary skill. */
export function ordinary(name: string, more = ''): string {
  return `name: ${name}\ndescription: About ${name}.${more === '' ? '' : `\n${more}`}`;
}
