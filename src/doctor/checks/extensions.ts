import { findPlugins } from '../../core/plugins/loader.ts';
import { pluginFolders } from '../../core/plugins/packages.ts';
import { skillsOff } from '../../core/program.ts';
import { openSkills } from '../../core/skills/open-skills.ts';
import { oneLine, plural } from '../../core/util/text.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import { checksOn } from '../../core/doctor/check.ts';
import type { Scene } from '../../core/doctor/scene.ts';

export const extensionChecks = checksOn('extensions', [
  ['skills.usable', 'each skill can be read, and none waits for your yes', skills],
  ['plugins.there', 'each plugin of the configuration is installed, and runs in the gateway', plugins],
]);

async function skills({ loaded, paths, env, command }: Scene): Promise<readonly Found[]> {
  if (loaded === null) return [];
  const { config, program } = loaded;
  const installed = openSkills(config, paths, { env, without: skillsOff(program, config) });
  const { skills: all, found: waiting, warnings } = await installed.survey();
  const odd = all.flatMap(({ name, source, warnings: [first, ...others] }) => {
    if (source === 'package' || first === undefined) return [];
    const rest = others.length === 0 ? '' : ` (and ${plural(others.length, 'other remark')})`;
    return [`The skill ${name} is oddly written: ${first}${rest}`];
  });
  const findings = [...warnings, ...odd].map((says) => warning(oneLine(says, 300), command('skills check')));
  if (waiting.length > 0)
    findings.push(
      note(
        `${plural(waiting.length, 'skill')} of other programs ${waiting.length === 1 ? 'waits' : 'wait'} for your yes.`,
        command('skills list'),
      ),
    );
  if (findings.length > 0) return findings;
  return [ok(`${plural(all.filter(({ missing }) => missing.length === 0).length, 'skill')} can be used.`)];
}

async function plugins({ loaded, paths, command }: Scene): Promise<readonly Found[]> {
  const found = new Set((await findPlugins(pluginFolders(paths.plugins))).map(({ name }) => name));
  return (loaded?.config.plugins ?? []).map((name) =>
    found.has(name)
      ? ok(`The plugin ${name} is there.`)
      : failed(`The plugin ${name} is not in ${paths.plugins}.`, command(`plugins add ${name}`)),
  );
}
