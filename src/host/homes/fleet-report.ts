import type { HomePaths } from '../../core/config/home.ts';
import { machineOf } from '../../core/config/hosted-home.ts';
import type { LoadedConfig } from '../../core/config/load.ts';
import type { GatewayFacts, HomeFacts } from './fleet.ts';
import { journalMigrations } from '../../core/journal/schema.ts';
import type { Clock } from '../../core/util/clock.ts';
import { errorMessage } from '../../core/util/errors.ts';
import { placeOf, storedHomeName } from './kept-home.ts';

export { placeOf };
export { runsHome } from './stored-home.ts';

/** What the database of the setting `store` knows of homes and gateways. */
export interface FleetReport {
  /** Why it could not be asked, one sentence; null: it was. */
  readonly trouble: string | null;
  readonly gateways: readonly GatewayFacts[];
  readonly homes: readonly HomeFacts[];
}

/** How the database knows the home of a folder; null: the folder is that of a machine with many homes. */
export function storedName({ config }: LoadedConfig, paths: HomePaths): string | null {
  return config.homes.enabled && machineOf(paths.home) === null ? null : storedHomeName(paths);
}

/** How long the database may take, ms. */
const ASK_MS = 5_000;
/** No such schema, table or column. */
const NOT_YET = new Set(['3F000', '42P01', '42703']);

/** Asks the database of the setting `store`, which changes nothing there. Never rejects; null: there is no such setting. */
export async function readFleetReport({ config }: LoadedConfig, clock: Clock): Promise<FleetReport | null> {
  if (config.store === null) return null;
  const [{ Postgres }, { sqlStateOf }, { readFleet }] = await Promise.all([
    import('./postgres.ts'),
    import('./store-failure.ts'),
    import('./fleet.ts'),
  ]);
  try {
    await using postgres = await Postgres.open(config.store, { clock, callMs: ASK_MS });
    return { trouble: null, ...(await readFleet(postgres, journalMigrations.length)) };
  } catch (error) {
    const trouble = NOT_YET.has(sqlStateOf(error) ?? '')
      ? 'The database has no homes of this version yet: the first start of a gateway makes what is missing.'
      : `${errorMessage(error).replace(/\.$/u, '')}.`;
    return { trouble, gateways: [], homes: [] };
  }
}
