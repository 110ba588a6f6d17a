import { added } from '../../src/core/api-tables.ts';
import { count, defineExtension, operation, section, z, type App } from '../../src/core/api.ts';
import { commandRow } from '../../src/core/api-rows.ts';
import { defineTool } from '../../src/core/api-tools.ts';

const water = section(
  'water',
  'live',
  z
    .object({ goal: count(8, 1, 'Glasses a day.') })
    .prefault({})
    .describe('What you drink.'),
);

/** What is kept: a row for each glass. */
const glasses = (app: App) => {
  const { db } = app.journal;
  const dayOf = (at: number): number => Math.floor(at / 86_400_000);
  return {
    drink: (note: string | null) =>
      db.write(() => db.run('INSERT INTO water_glass VALUES (?, ?)', app.clock.now(), note)),
    today: () =>
      db.get('SELECT count(*) AS n FROM water_glass WHERE at >= ?', dayOf(app.clock.now()) * 86_400_000)?.number('n') ??
      0,
    goal: () => app.settingsOf(water).goal,
  };
};

const waterOperation = operation({
  name: 'water',
  description: 'How many glasses were drunk today, of how many.',
  changes: null,
  params: z.object({}),
  handle: async (_, { app }) => ({ today: app.once(glasses).today(), goal: app.once(glasses).goal() }),
});

export default defineExtension({
  name: 'water',
  settings: [water],
  tables: {
    migrations: [added('CREATE TABLE IF NOT EXISTS water_glass (at INTEGER PRIMARY KEY, note TEXT) STRICT;')],
    texts: { water_glass: ['note'] },
    aged: [{ store: 'glasses', table: 'water_glass', key: 'at', at: 'at', keptMs: 90 * 86_400_000 }],
  },
  operations: [waterOperation],
  cli: [
    commandRow({
      name: 'water',
      description: 'why you should drink',
      load:
        async () =>
        async (_, { stdout }) => {
          stdout.write('Drink!\n');
          return 0;
        },
    }),
  ],
  open: (app) => {
    const { drink, today, goal } = app.once(glasses);
    const said = (): string => `${today()} of ${goal()} glasses today`;
    return {
      tools: [
        defineTool({
          name: 'drink',
          description: 'Notes a glass of water that the person drank.',
          parameters: z.object({ note: z.string().optional().describe('What it was, e.g. "tea".') }),
          effect: 'effect',
          execute: async ({ note }) => (
            await drink(note ?? null),
            { title: 'a glass of water', output: said(), metadata: {} }
          ),
        }),
      ],
      commands: [{ name: 'water', description: 'what you drank today', role: 'trusted', run: said }],
      prompt: [
        {
          name: 'water',
          stamp: said,
          text: ({ ownersDirectChat }) => (ownersDirectChat ? `# Water\n\n${said()}` : ''),
        },
      ],
    };
  },
});
