import { operation, z } from '../../core/api.ts';

/** A turn as the text of a trace file, without secrets. */
const savedTurn = z.object({
  turn: z.string(),
  /** One JSON object on each line. */
  text: z.string(),
  /** What cannot be replayed, one sentence each. */
  missing: z.array(z.string()).readonly(),
});
export type SavedTurn = z.output<typeof savedTurn>;

export const turnsSave = operation({
  name: 'turnsSave',
  about:
    'Returns all that the model requests of a turn were made of, without secrets, as the text of a trace file; `turn-unknown` if there is no such turn, `turn-gone` if its conversation was deleted.',
  changes: null,
  input: z.object({ turn: z.string().min(1).max(64).describe('Id of the turn.') }),
  output: savedTurn,
  run: async (app, { turn }) => await (await import('./save-turn.ts')).saveTurn(turn, app),
});

declare module '../../core/api.ts' {
  interface ExtensionOperations {
    readonly turnsSave: typeof turnsSave;
  }
}
