import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import { fullName } from '../../core/assistant/models.ts';

const RECENT_MS = 90 * 86_400_000;
const MOST = 200;

/** Which models there are to choose from. */
export function modelRequests({ config, clock, models, journal }: App): Pick<RequestHandlers, 'modelsList'> {
  return {
    modelsList: async ({ session }) => {
      const chosen = session === undefined ? null : journal.settings.model(session);
      const { model, fallbacks } = config.agent;
      const used = journal.usage.grouped('model', clock.now() - RECENT_MS).map(({ name }) => name);
      const refs = [chosen ?? model, model, ...fallbacks, ...Object.keys(config.models), ...used];
      const callable = refs.flatMap((ref) => {
        try {
          return [models.fullName(ref)];
        } catch {
          // Its provider is no longer configured.
          return [];
        }
      });
      return { models: [...new Set(callable)].slice(0, MOST), current: fullName(models.resolve(chosen)), chosen };
    },
  };
}
