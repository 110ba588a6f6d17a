import type { Provider } from '../../providers/provider.ts';
import { checkedEvents } from '../../providers/wrappers/checked.ts';
import type { CallModel, HookRunner, TurnFacts } from './hooks.ts';

/** The provider with the `runModel` hooks of plugins around each call; that of the plugin listed first is outermost. */
export function withRunModel(provider: Provider, facts: TurnFacts, hooks: Pick<HookRunner, 'of' | 'report'>): Provider {
  const around = hooks.of('runModel');
  if (around.length === 0) return provider;
  return {
    name: provider.name,
    chat: (asked, { signal }) => {
      const model: CallModel = (request) => provider.chat(request, { signal });
      const outermost = around.reduceRight<CallModel>(
        (next, { owner, guard, hooks: its }) =>
          (request) =>
            checkedEvents(() => its.runModel?.(facts, request, next, { signal }), {
              who: `The hook runModel of the plugin ${JSON.stringify(owner)}`,
              signal,
              ...(guard
                ? {}
                : {
                    spare: (error: unknown) => {
                      hooks.report(owner, 'runModel', error);
                      return next(request);
                    },
                  }),
            }),
        model,
      );
      return outermost(asked);
    },
  };
}
