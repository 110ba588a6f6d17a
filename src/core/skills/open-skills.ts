import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Environment } from '../config/environment.ts';
import type { HomePaths } from '../config/home.ts';
import type { Plugins } from '../plugins/plugins.ts';
import { packageFile } from '../config/version.ts';
import type { SkillLayers } from '../agent/prompt/system-prompt.ts';
import type { Config } from '../config/schema.ts';
import { SkillCatalog } from './catalog.ts';
import type { Skill } from './skill.ts';
import { activeSkills, skillsIndex } from './skills-index.ts';
import type { SkillRoot } from './walk.ts';
import { silentLog, type Logger } from '../util/log.ts';

/** Where skills lie, in the order in which their names count. */
function skillRoots(without: readonly string[], paths: HomePaths, env: Environment): readonly SkillRoot[] {
  const bundled = packageFile('skills');
  return [
    { path: workspaceSkills(paths), source: 'workspace' },
    { path: join(env['HOME'] ?? homedir(), '.agents', 'skills'), source: 'user' },
    ...(bundled === undefined ? [] : [{ path: bundled, source: 'package' as const, without }]),
  ];
}

/** Where skills of a home's own lie. */
export function workspaceSkills(paths: HomePaths): string {
  return join(paths.workspace, 'skills');
}

/** The skills of a home. `env`: where programs and variables are looked for. */
export function openSkills(
  config: Config,
  paths: HomePaths,
  {
    env,
    log = silentLog,
    plugins = { skills: [] },
    without = [],
  }: {
    readonly env: Environment;
    readonly log?: Logger;
    readonly plugins?: Pick<Plugins, 'skills'>;
    /** Skills of the program that belong to what is switched off. @default none */
    readonly without?: readonly string[];
  },
): SkillCatalog {
  const own = skillRoots(without, paths, env);
  return new SkillCatalog({
    get roots() {
      return [...own, ...plugins.skills.map((path) => ({ path, source: 'package' as const }))];
    },
    env,
    config,
    get disabled() {
      return config.skills.disabled;
    },
    get entries() {
      return config.skills.entries;
    },
    pins: paths.skillPins,
    platform: process.platform,
    log,
  });
}

/** Characters of the index in a small window. */
const SHORT_INDEX = 2_000;

/** The two layers of the prompt that skills make up; rendered again when a skill changed. `onRead`: gets the skills each time. */
export function skillLayers(
  catalog: Pick<SkillCatalog, 'current' | 'load'>,
  onRead?: (skills: readonly Skill[]) => void,
): () => Promise<SkillLayers> {
  let made: { from: readonly Skill[]; layers: SkillLayers } | undefined;
  return async () => {
    const skills = await catalog.current();
    onRead?.(skills);
    if (made?.from === skills) return made.layers;
    const always = skills.filter(({ always, missing }) => always && missing.length === 0);
    const loaded = await Promise.all(always.map(({ name }) => catalog.load(name)));
    const layers = {
      active: activeSkills(loaded.filter((found) => found !== undefined)),
      index: skillsIndex(skills),
      shortIndex: skillsIndex(skills, SHORT_INDEX),
    };
    made = { from: skills, layers };
    return layers;
  };
}
