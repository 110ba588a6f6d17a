import { added, commandRow, count, defineExtension, defineTool, operation, section, z, type App } from 'assistantd';

const SINCE = 'SELECT count(*) AS n FROM water_glass WHERE at >= ?';

// The setting water.goal. `live`: a change counts at once.
const settings = z.object({ goal: count(8, 1, 'Glasses a day.') });
const water = section('water', 'live', settings.prefault({}).describe('What you drink.'));

// A row for each glass. `app.once` makes this once for each running assistant.
const glasses = ({ journal: { db }, clock, settingsOf }: App) => ({
  drink: (note: string | null) => db.write(() => db.run('INSERT INTO water_glass VALUES (?, ?)', clock.now(), note)),
  today: () => db.get(SINCE, Math.floor(clock.now() / 86_400_000) * 86_400_000)?.number('n') ?? 0,
  goal: () => settingsOf(water).goal,
});

// What programs, the page and other parts ask: assistant.call('water', {}).
const today = operation({
  name: 'water',
  about: 'How many glasses were drunk today, of how many.',
  changes: null,
  input: z.object({}),
  output: z.object({ today: z.number(), goal: z.number() }),
  run: async (app) => ({ today: app.once(glasses).today(), goal: app.once(glasses).goal() }),
});

const sayWhy = async (_: unknown, { stdout }: { readonly stdout: NodeJS.WritableStream }) => {
  stdout.write('Drink!\n');
  return 0;
};

export default defineExtension({
  name: 'water',
  settings: [water],
  tables: {
    migrations: [added('CREATE TABLE IF NOT EXISTS water_glass (at INTEGER PRIMARY KEY, note TEXT) STRICT;')],
    texts: { water_glass: ['note'] },
    aged: [{ store: 'glasses', table: 'water_glass', key: 'at', at: 'at', keptMs: 90 * 86_400_000 }],
  },
  operations: [today],
  cli: [commandRow({ name: 'water', description: 'why you should drink', load: async () => sayWhy })],
  open: (app) => {
    const { drink, today, goal } = app.once(glasses);
    const said = (): string => `${today()} of ${goal()} glasses today`;
    const tool = defineTool({
      name: 'drink',
      description: 'Notes a glass of water that the person drank.',
      parameters: z.object({ note: z.string().optional().describe('What it was, e.g. "tea".') }),
      effect: 'effect',
      execute: async ({ note }) => {
        await drink(note ?? null);
        return { title: 'a glass of water', output: said(), metadata: {} };
      },
    });
    return {
      tools: [tool],
      commands: [{ name: 'water', description: 'what you drank', run: said }],
      prompt: [{ name: 'water', stamp: said, text: (to) => (to.ownersDirectChat ? `# Water\n\n${said()}` : '') }],
    };
  },
});
