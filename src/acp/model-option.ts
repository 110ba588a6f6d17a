import type { SessionConfigOption } from '@agentclientprotocol/sdk';
import type { ModelsInfo } from '../core/gateway/operations/health.ts';

/** The id of the choice of a model. */
export const MODEL = 'model';

/** The choice of a model, as editors show it. */
export function modelOption({ models, current }: ModelsInfo): SessionConfigOption {
  const values = models.includes(current) ? models : [current, ...models];
  return {
    type: 'select',
    id: MODEL,
    name: 'Model',
    description: 'Which model answers in this conversation.',
    category: 'model',
    currentValue: current,
    options: values.map((value) => ({ value, name: value })),
  };
}
