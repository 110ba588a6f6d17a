import type { ChosenModel } from '../agent/turn/current-turn.ts';
import type { LoadedConfig } from '../config/load.ts';
import { configuredWindow } from '../providers/context-window-registry.ts';
import { LearnedFacts, type FactKeeper } from '../providers/learned.ts';
import { createProviders, type Providers, type ProvidersOptions } from '../providers/registry.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { Held } from '../util/held.ts';
import type { Base } from './base.ts';
import type { ModelEvent } from '../providers/provider.ts';

export interface Models {
  /** The model that `agent.model` names now, for sessions that chose no other. */
  readonly standard: ChosenModel;
  /** The model of a reference, such as `openai/gpt-5`; null: the standard one. Never throws: see `unusableModel`. */
  readonly resolve: (ref: string | null) => ChosenModel;
  /** A reference as `provider/model`. Throws an error of one sentence when the model cannot be called. */
  readonly fullName: (ref: string) => string;
  contextWindow: Providers['contextWindow'];
  /** What the servers of models have refused or said of themselves. */
  readonly learned: LearnedFacts;
  /** Does this work with the providers that are open now, also when they are opened anew meanwhile. */
  readonly hold: <T>(work: () => Promise<T>) => Promise<T>;
  /** Opens the providers anew, as the configuration says now; calls in flight end with what they began with. */
  reopen: (keyVariables: LoadedConfig['keyVariables']) => void;
  /** The HTTP body that this request would have now. Throws an error of one sentence when its provider is not configured. */
  body: Providers['body'];
}

/** Opens the models of the configuration. Throws an error of one sentence when the standard model cannot be called. */
export function createModels(
  {
    config,
    loaded: { keyVariables, program },
    clock,
    random,
    log,
    plugged = { providers: {}, running: new Set() },
  }: Pick<Base, 'config' | 'loaded' | 'clock' | 'random' | 'log'> & Partial<Pick<Base, 'plugged'>>,
  { permit, keeper }: Pick<ProvidersOptions, 'permit'> & { readonly keeper?: FactKeeper } = {},
): Models {
  const learned = new LearnedFacts({ clock, log, keeper });
  const windowOf = (ref: string): number | null => configuredWindow(config, ref);
  const open = (variables: LoadedConfig['keyVariables']): Providers =>
    createProviders({
      configs: config.providers,
      keyVariables: variables,
      windowOf,
      plugged: plugged.providers,
      program,
      permit,
      learned,
      clock,
      random,
      log,
    });
  const providers = new Held(open(keyVariables));
  const standard = (): ChosenModel => {
    const { model, fallbacks } = config.agent;
    try {
      return providers.now.resolve(model, fallbacks);
    } catch (error) {
      // What brings it may be a plugin that does not run, or be switched off; that is told to those who write.
      const isOff = error instanceof AppError && error.facts['isOff'] === true;
      if (!isOff && config.plugins.every((name) => plugged.running.has(name))) throw error;
      return unusableModel(model, errorMessage(error));
    }
  };
  standard();
  return {
    get standard() {
      return standard();
    },
    reopen: (variables) => {
      providers.replace(open(variables));
    },
    hold: (work) => providers.hold(work),
    resolve: (ref) => {
      const { model, fallbacks } = config.agent;
      try {
        return providers.now.resolve(ref ?? model, fallbacks);
      } catch (error) {
        return unusableModel(ref ?? model, errorMessage(error));
      }
    },
    fullName: (ref) => fullName(providers.now.resolve(ref)),
    body: (provider, request) => providers.now.body(provider, request),
    contextWindow: (ref) => providers.now.contextWindow(ref),
    learned,
  };
}

/** A model as `provider/model`. */
export function fullName({ providerName, model }: Pick<ChosenModel, 'providerName' | 'model'>): string {
  return `${providerName}/${model}`;
}

/** Replaces a model that cannot be called. Each call gives an error event with `reason`, so that the person reads it. */
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
