import type { HomePaths } from '../config/home.ts';
import type { LoadedConfig } from '../config/load.ts';
import { peopleOnDisk } from '../journal/people.ts';
import { meaningText } from '../providers/embedding-server.ts';
import { scriptedKind } from '../providers/presets.ts';
import { speechStateOf } from '../program.ts';
import type { Clock } from '../util/clock.ts';
import { errorMessage } from '../util/errors.ts';
import { failed, type Finding } from '../util/finding.ts';
import { configFindings } from '../assistant/base.ts';
import { silentLog } from '../util/log.ts';
import { systemRandom } from '../util/random.ts';
import { createModels, fullName } from '../assistant/models.ts';
import { peopleFindings } from '../people/owners.ts';

/** What can be said of a home in which no assistant runs. */
export interface HomeAtRest {
  /** `provider/model` that would answer; null: none could. */
  readonly model: string | null;
  /** The model that would answer is a script. */
  readonly isScripted: boolean;
  /** What becomes of voice messages, in one line; null: they are not turned into text. */
  readonly voice: string | null;
  /** Who speaks answers, in one line; null: no one. */
  readonly speech: string | null;
  /** How the memory is searched and where its texts go, in one line; null: by words alone, here. */
  readonly search: string | null;
  /** What the person should know, as a gateway would say it, and why no model could be called. */
  readonly findings: readonly Finding[];
}

/** Reads the journal, if there is one; starts nothing. */
export function homeAtRest(paths: Pick<HomePaths, 'state' | 'config'>, loaded: LoadedConfig, clock: Clock): HomeAtRest {
  const { config, program } = loaded;
  const { voice, speech } = speechStateOf(loaded);
  const spoken = { voice, speech, search: meaningText(config, program) };
  const findings = [
    ...configFindings(loaded, undefined),
    ...peopleFindings(loaded, peopleOnDisk(paths.state), paths.config),
  ];
  try {
    const { standard } = createModels({ config, loaded, clock, random: systemRandom, log: silentLog });
    const isScripted = standard.providerName === scriptedKind(program.presets);
    return { model: fullName(standard), isScripted, ...spoken, findings };
  } catch (error) {
    return {
      model: null,
      isScripted: false,
      ...spoken,
      findings: [...findings, { id: 'model.answers', ...failed(errorMessage(error)) }],
    };
  }
}
