import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { createAssistant, definePlugin, defineTool, z, type ApprovalQuestion } from 'assistantd';

const file = join(import.meta.dirname, 'expenses.csv');

// What the model knows of a tool are its description and those of its parameters.
const addExpense = defineTool({
  name: 'add_expense',
  description: 'Writes down money that the person spent. Use it whenever they tell you of an expense.',
  effect: 'effect',
  parameters: z.object({
    euros: z.number().positive().describe('How much, e.g. 12.5.'),
    what: z.string().describe('What it was for, e.g. "train ticket".'),
  }),
  plan: ({ euros, what }) => {
    const detail = `${euros.toFixed(2)} euros for ${what}`;
    const run = async () => {
      await appendFile(file, `${euros.toFixed(2)},${JSON.stringify(what)}\n`);
      return { title: `wrote down ${detail}`, output: 'It is written down.' };
    };
    // From 100 euros on, a person is asked before it runs.
    return euros < 100
      ? { run }
      : { run, asks: { title: 'Write down an expense', detail, reason: 'it is 100 euros or more' } };
  },
});

// A command runs without the model.
const list = definePlugin({
  name: 'expenses',
  commands: [
    { name: 'expenses', description: 'lists them', run: () => readFile(file, 'utf8').catch(() => 'None yet.') },
  ],
});

const terminal = createInterface({ input: process.stdin });
const onApproval = async ({ title, detail, reason }: ApprovalQuestion, signal: AbortSignal): Promise<boolean> => {
  console.log(`${title}: ${detail}\n${reason} Allow? [y/N]`);
  return (await terminal.question('', { signal })).toLowerCase().startsWith('y');
};

await using assistant = await createAssistant({
  home: join(import.meta.dirname, 'home'),
  config: { log: { level: 'error' } },
  tools: [addExpense],
  plugins: [list],
});

const said = process.argv.slice(2).join(' ') || '/expenses';
const { text, toolCalls } = await assistant.run(said, { session: 'expenses', tools: ['add_expense'], onApproval });
for (const { title, ok, problem } of toolCalls) console.log(ok ? `✓ ${title}` : `✗ ${problem}`);
console.log(text.trim());
terminal.close();
