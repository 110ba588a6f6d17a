import { skillsOff } from '../../core/program.ts';
import type { Environment } from '../../core/config/environment.ts';
import type { HomePaths } from '../../core/config/home.ts';
import type { DoctorPorts } from '../../doctor/scene.ts';
import { findPlugins } from '../../core/plugins/loader.ts';
import { pluginFolders } from '../../core/plugins/packages.ts';
import type { Clock } from '../../core/util/clock.ts';
import { silentLog } from '../../core/util/log.ts';
import { systemRandom } from '../../core/util/random.ts';
import { plural } from '../../core/util/text.ts';
import { createModels, fullName } from '../../core/assistant/models.ts';
import { readStoreAddress } from '../../core/storage/store-address.ts';
import { placeOf, storedHomeName } from '../../host/homes/kept-home.ts';
import { openSkills } from '../../core/skills/open-skills.ts';

/** What the doctor needs of the composed program, for a home in which it starts nothing. */
export function doctorPorts(
  paths: HomePaths,
  { env, clock }: { readonly env: Environment; readonly clock: Clock },
): DoctorPorts {
  return {
    answeringModel: (loaded) => {
      const { config } = loaded;
      return fullName(createModels({ config, loaded, clock, random: systemRandom, log: silentLog }).standard);
    },
    skills: async ({ config, program }) => {
      const without = skillsOff(program, config);
      const { skills, found, warnings } = await openSkills(config, paths, { env, without }).survey();
      const odd = skills.filter(({ source }) => source !== 'package');
      return {
        usable: skills.filter(({ missing }) => missing.length === 0).length,
        troubles: [
          ...warnings,
          ...odd.flatMap(({ name, warnings: [first, ...others] }) =>
            first === undefined
              ? []
              : [
                  `The skill ${name} is oddly written: ${first}${others.length === 0 ? '' : ` (and ${plural(others.length, 'other remark')})`}`,
                ],
          ),
        ],
        waiting: found.length,
      };
    },
    storedHome: ({ config: { store, homes } }) => {
      if (store === null) return null;
      const name = homes.enabled ? null : storedHomeName(paths);
      return { url: store, leaseMs: readStoreAddress(store).leaseMs, name, knownAs: placeOf(paths) };
    },
    plugins: async ({ plugins }) => {
      const found = await findPlugins(pluginFolders(plugins));
      return found.map(({ name }) => name);
    },
  };
}
