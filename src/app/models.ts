import type { ChosenModel } from '../agent/turn/turn-ports.ts';
import { createProviders, type Providers } from '../providers/registry.ts';
import { errorMessage } from '../util/errors.ts';
import type { Base } from './base.ts';
import type { ModelEvent } from '../providers/provider.ts';

export interface Models {
  /** What answers where nothing else was chosen. */
  readonly standard: ChosenModel;
  /** Never throws: an unusable reference gives a provider that answers with the reason. */
  readonly resolve: (ref: string | null) => ChosenModel;
  /** `provider/model` of what `ref` means. Throws one sentence when it cannot be called. */
  readonly fullName: (ref: string) => string;
  contextWindow: Providers['contextWindow'];
  /** The body that a request to a provider has now. Throws one sentence when it is not configured any more. */
  body: Providers['body'];
}

/** Throws one sentence when the standard model cannot be called. */
export function createModels({
  config,
  loaded: { keyVariables },
  clock,
  random,
  log,
}: Pick<Base, 'config' | 'loaded' | 'clock' | 'random' | 'log'>): Models {
  const { model, fallbacks } = config.agent;
  const providers = createProviders({ configs: config.providers, keyVariables, clock, random, log });
  return {
    standard: providers.resolve(model, fallbacks),
    resolve: (ref) => {
      try {
        return providers.resolve(ref ?? model, fallbacks);
      } catch (error) {
        return unusableModel(ref ?? model, errorMessage(error));
      }
    },
    fullName: (ref) => fullName(providers.resolve(ref)),
    body: (provider, request) => providers.body(provider, request),
    contextWindow: (ref) => providers.contextWindow(ref),
  };
}

/** `provider/model` */
export function fullName({ providerName, model }: Pick<ChosenModel, 'providerName' | 'model'>): string {
  return `${providerName}/${model}`;
}

/** Stands for a model that cannot be called: it answers with the reason, so that the person reads it. */
export function unusableModel(ref: string, reason: string): ChosenModel {
  const slash = ref.indexOf('/');
  const providerName = slash === -1 ? ref : ref.slice(0, slash);
  return {
    providerName,
    model: slash === -1 ? '' : ref.slice(slash + 1),
    provider: {
      name: providerName,
      async *chat(): AsyncGenerator<ModelEvent> {
        yield { type: 'error', kind: 'bad-request', retryable: false, message: reason };
      },
    },
  };
}
