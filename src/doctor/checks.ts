import type { Config } from '../core/config/schema.ts';
import type { Program } from '../core/program.ts';
import { SUBJECTS, type Check } from '../core/doctor/check.ts';
import { agentChecks } from './checks/agents.ts';
import { channelChecks } from './checks/channels.ts';
import { configurationChecks } from './checks/configuration.ts';
import { extensionChecks } from './checks/extensions.ts';
import { gatewayChecks } from './checks/gateway.ts';
import { homeChecks } from './checks/home.ts';
import { messageChecks } from './checks/messages.ts';
import { modelChecks } from './checks/models.ts';
import { programChecks } from './checks/program.ts';
import { safetyChecks } from './checks/safety.ts';
import { serviceChecks } from './checks/service.ts';
import { spendingChecks } from './checks/spending.ts';
import { storeChecks } from './checks/stores.ts';

/** Everything that is looked at, in the order in which it is shown. */
const CHECKS: readonly Check[] = [
  ...programChecks,
  ...configurationChecks,
  ...homeChecks,
  ...agentChecks,
  ...storeChecks,
  ...modelChecks,
  ...spendingChecks,
  ...channelChecks,
  ...safetyChecks,
  ...gatewayChecks,
  ...messageChecks,
  ...extensionChecks,
  ...serviceChecks,
];

/** Those of the core and of the extensions that are on, by subject in the order in which they are shown. `config`: null where it is not known. */
export async function checksOf({ extensions }: Program, config: Config | null): Promise<readonly Check[]> {
  const on = extensions.filter((one) => config?.extensions[one.name] !== false);
  const own = await Promise.all(on.map(async ({ checks }) => (await checks?.()) ?? []));
  // Those of homes on PostgreSQL are loaded where one is configured or nothing is known.
  const stored = config?.store === null ? [] : (await import('../host/checks/database.ts')).databaseChecks;
  const all = [...CHECKS, ...stored, ...own.flat()];
  return SUBJECTS.flatMap((subject) => all.filter((check) => check.subject === subject));
}

/** What is looked at in the folder of a machine with many homes; the other checks are about a home. */
export function isOfMachine({ id }: Check): boolean {
  return (
    /^(?:config|database|service)\.|^program\.(?:node|root|clock)$/u.test(id) ||
    /^home\.(?:there|mode|owner|lock|leftovers|disk)$|^gateway\.(?:running|version|port|exposed|warnings)$/u.test(id)
  );
}
