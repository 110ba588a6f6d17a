import * as z from 'zod';
import { answers } from './operation.ts';

export const extensions = {
  pluginsList: answers<
    readonly {
      readonly name: string;
      /** Null: there is no such package. */
      readonly version: string | null;
      readonly state: 'running' | 'not enabled' | 'failed' | 'safe mode' | 'waits for a restart';
    }[]
  >()({
    description: 'Lists the packages in the folder of plugins, and those that the configuration names.',
    role: 'owner',
    changes: false,
    params: z.object({}),
  }),
};
