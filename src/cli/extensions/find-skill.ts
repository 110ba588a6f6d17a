import { sentenceOf } from '../../core/util/finding.ts';
import { openSkillInstaller, type Skill, type SkillInstaller } from '../../core/skills/skill-installer.ts';
import type { HomePaths } from '../../core/config/home.ts';
import { loadConfig } from '../../core/config/load.ts';
import type { Config } from '../../core/config/schema.ts';
import { skillsOff } from '../../core/program.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { deadline, raceAbort } from '../../core/util/clock.ts';
import { AppError } from '../../core/util/errors.ts';
import { nearest, oneLine } from '../../core/util/text.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { terminalText } from '../../core/cli/format.ts';
import { pathsOf } from '../../core/cli/open.ts';

/** A gateway waits up to 5 s for the database that keeps its home. */
const TELL_MS = 6_000;

/** What the command line does with the skills of a home, by its configuration. */
export async function openInstaller(
  home: string | undefined,
  context: CliContext,
): Promise<SkillInstaller & { readonly config: Config; readonly paths: HomePaths }> {
  const paths = pathsOf(context, home);
  const { config, findings } = await loadConfig({ program: context.program, home: paths.home, env: context.env });
  for (const finding of findings) context.stderr.write(`⚠ ${terminalText(sentenceOf(finding))}\n`);
  const { env, program } = context;
  return { ...openSkillInstaller(config, paths, { env, without: skillsOff(program, config) }), config, paths };
}

/** The skill of a name, also one that is turned off or not enabled yet. Throws `unknown-skill` with the nearest name. */
export async function findSkill(installer: SkillInstaller, name: string): Promise<Skill> {
  const { skills, disabled, found } = await installer.catalog.survey();
  const all = [...skills, ...disabled, ...found];
  const skill = all.find((candidate) => candidate.name === name.toLowerCase());
  if (skill !== undefined) return skill;
  const close = nearest(
    name,
    all.map((candidate) => candidate.name),
  );
  const hint =
    close === undefined ? `To see them all, run: ${assistantCommand('skills list')}` : `Did you mean ${close}?`;
  throw new AppError('unknown-skill', `There is no skill ${JSON.stringify(oneLine(name, 60))}. ${hint}`);
}

/**
 * Has an assistant that runs look again, so that an open page shows the change and the database that keeps the home has it. Without one,
 * or if it fails, the change is made all the same.
 */
export async function tellRunning(context: CliContext, home: string | undefined): Promise<void> {
  using waiting = deadline(context.clock, TELL_MS, 'the running assistant');
  try {
    await using running = await context.connect(pathsOf(context, home).socket);
    if (running === undefined) return;
    const { behind } = await raceAbort(running.call('configReload', {}), waiting.signal);
    if (behind !== undefined) context.stderr.write(`⚠ ${behind}\n`);
  } catch {
    // The page shows it when it is opened next.
  }
}
