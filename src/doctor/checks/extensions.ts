import { oneLine, plural } from '../../core/util/text.ts';
import { failed, note, ok, warning, type Found } from '../../core/util/finding.ts';
import type { Check } from '../check.ts';
import type { Scene } from '../scene.ts';

export const extensionChecks: readonly Check[] = [
  {
    id: 'skills.usable',
    subject: 'extensions',
    about: 'each skill can be read, and none waits for your yes',
    run: skills,
  },
  {
    id: 'plugins.there',
    subject: 'extensions',
    about: 'each plugin of the configuration is installed, and runs in the gateway',
    run: plugins,
  },
];

async function skills({ loaded, ports, command }: Scene): Promise<readonly Found[]> {
  if (loaded === null) return [];
  const { usable, troubles, waiting } = await ports.skills(loaded);
  const findings: Found[] = troubles.map((sentence) => warning(oneLine(sentence, 300), command('skills check')));
  if (waiting > 0)
    findings.push(
      note(
        `${plural(waiting, 'skill')} of other programs ${waiting === 1 ? 'waits' : 'wait'} for your yes.`,
        command('skills list'),
      ),
    );
  return findings.length === 0 ? [ok(`${plural(usable, 'skill')} can be used.`)] : findings;
}

async function plugins({ loaded, ports, paths, command }: Scene): Promise<readonly Found[]> {
  const listed = loaded?.config.plugins ?? [];
  if (listed.length === 0) return [];
  const found = await ports.plugins(paths);
  return listed.map((name) => {
    if (!found.includes(name))
      return failed(`The plugin ${name} is not in ${paths.plugins}.`, command(`plugins add ${name}`));
    return ok(`The plugin ${name} is there.`);
  });
}
