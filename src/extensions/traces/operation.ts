import { operation, z } from '../../core/api.ts';

export const turnsSave = operation({
  name: 'turnsSave',
  description:
    'Returns all that the model requests of a turn were made of, without secrets, as the text of a trace file; `turn-unknown` if there is no such turn, `turn-gone` if its conversation was deleted.',
  changes: null,
  params: z.object({ turn: z.string().min(1).max(64).describe('Id of the turn.') }),
  handle: async ({ turn }, { app }) => await (await import('./save-turn.ts')).saveTurn(turn, app),
});

declare module '../../core/api.ts' {
  interface ExtensionOperations {
    readonly turnsSave: typeof turnsSave;
  }
}
