import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { call, exec, type HomeWithFiles, type Task } from './home-with-files.ts';

const run = promisify(execFile);
const ME = 'git -c user.name=Me -c user.email=me@example.com';
const last = (results: readonly string[], part: string): boolean => results.at(-1)?.includes(part) === true;

/** Skills that the owner installed, by their folder. */
const INSTALLED: Readonly<Record<string, string>> = {
  bread: 'How to bake.\n---\nFlour and water, then 40 minutes.',
  letters: 'How to write letters.\n---\nBegin with the date and end with a greeting.',
  plants: 'How to care for plants.\n---\nWater ferns on Mondays.',
};

/** A bare repository beside the workspace's files, and a package in a file, as a colleague would hand them over. */
export async function furnishMonth({ world, write }: HomeWithFiles): Promise<void> {
  for (const [name, text] of Object.entries(INSTALLED)) {
    await write(`skills/${name}/SKILL.md`, `---\nname: ${name}\ndescription: ${text}\n`);
  }
  await write('src/app/main.txt', 'one\n');
  await write(
    'src/app/package.json',
    '{"name":"app","version":"1.0.0","scripts":{"test":"node -e \\"console.log(1)\\""}}',
  );
  await write('src/leaf/package.json', '{"name":"leaf","version":"1.0.0"}');
  await write('src/leaf/index.js', 'module.exports = 7;\n');
  const at = join(world.workspace, 'src');
  await mkdir(join(world.workspace, 'packages'), { recursive: true });
  const script = `cd app && git init -q -b main . && git add . && ${ME} commit -qm "First" && git clone -q --bare . ../app.git && cd ../leaf && npm pack --silent --pack-destination ../../packages`;
  await run('/bin/sh', ['-c', script], { cwd: at });
}

/** What the owner asks for on a day of the month, counted from 0. Each day has three to six tasks, and no two are the same. */
export function tasksOf(day: number): readonly Task[] {
  const folder = `days/${day}`;
  const clone: Task = {
    name: `clone the project for day ${day}`,
    calls: [exec(`mkdir -p ${folder} && git clone -q src/app.git ${folder}/app && cat ${folder}/app/main.txt`)],
    isDone: (_home, results) => last(results, 'one'),
  };
  const commit: Task = {
    name: `commit the change of day ${day}`,
    prepare: ({ world }) => cloned(world.workspace, folder),
    calls: [
      call('write_file', { path: `${folder}/app/main.txt`, content: `day ${day}\n` }),
      exec(`${ME} commit -qam "Day ${day}" && git log --oneline -1`, { cwd: `${folder}/app` }),
    ],
    isDone: (_home, results) => last(results, `Day ${day}`),
  };
  const install: Task = {
    name: `install a package on day ${day}`,
    prepare: ({ write }) => write(`${folder}/shop/package.json`, '{"name":"shop","version":"1.0.0"}'),
    calls: [
      exec(
        'npm install --offline --no-audit --no-fund ../../../packages/leaf-1.0.0.tgz && node -p "require(\'leaf\')"',
        {
          cwd: `${folder}/shop`,
        },
      ),
    ],
    isDone: (_home, results) => last(results, '7'),
  };
  const page: Task = {
    name: `read a page on day ${day}`,
    prompt: 'What does http://news.example.com/bees say?',
    calls: [
      call('web_fetch', { url: 'http://news.example.com/bees' }),
      call('write_file', { path: `${folder}/bees.md`, content: 'Bees dance.\n' }),
    ],
    isDone: async ({ read }) => (await read(`${folder}/bees.md`)).includes('dance'),
  };
  const bill: Task = {
    name: `read the bill of day ${day}`,
    prompt: 'What do I owe? http://shop.example.com/bill.pdf',
    calls: [call('web_fetch', { url: 'http://shop.example.com/bill.pdf' })],
    isDone: (_home, results) => last(results, '99 EUR'),
  };
  const mail: Task = {
    name: `read the mail of day ${day}`,
    calls: [call('mcp_mail_list', {}), call('mcp_mail_read', { number: '2' })],
    isDone: (_home, results) => last(results, '84 EUR'),
  };
  const answer: Task = {
    name: `write to Ann on day ${day}`,
    prompt: `Write to ann@example.com: see you on day ${day}`,
    calls: [call('mcp_mail_send', { to: 'ann@example.com', subject: 'Soon', text: `See you on day ${day}.` })],
    isDone: (_home, results) => last(results, 'Sent as number'),
  };
  const event: Task = {
    name: `put day ${day} into the calendar`,
    calls: [call('mcp_calendar_add', { when: `2027-04-01 ${day % 24}:00`, title: `Day ${day}` })],
    isDone: (_home, results) => last(results, 'Added'),
  };
  const report: Task = {
    name: `write the report of day ${day}`,
    calls: [
      call('write_file', { path: `${folder}/report.md`, content: `# Day ${day}\n\nQuiet.\n` }),
      call('edit_file', { path: `${folder}/report.md`, oldText: 'Quiet.', newText: 'Busy.' }),
      call('read_file', { path: `${folder}/report.md` }),
    ],
    isDone: (_home, results) => last(results, 'Busy.'),
  };
  const fact: Task = {
    name: `remember what happened on day ${day}`,
    prompt: `Remember that locker ${day} is mine`,
    calls: [call('memory_write', { fact: `Locker ${day} belongs to the owner.` })],
    isDone: async ({ read }) => (await read('memory/MEMORY.md')).includes(`Locker ${day} `),
  };
  const job: Task = {
    name: `remind me of day ${day}`,
    calls: [call('cron', { action: 'add', kind: 'message', when: 'in 60d', text: `Think of day ${day}.` })],
    isDone: async ({ read }) => (await read('cron/jobs.json')).includes(`Think of day ${day}.`),
  };
  const skill: Task = {
    name: `follow a skill on day ${day}`,
    calls: [
      call('skill', { name: Object.keys(INSTALLED)[day % 3] ?? '' }),
      call('write_file', { path: `${folder}/plan.md`, content: `Plan of day ${day}\n` }),
    ],
    isDone: async ({ read }) => (await read(`${folder}/plan.md`)).includes('Plan'),
  };
  const tidy: Task = {
    name: `tidy up day ${day}`,
    calls: [exec(`mkdir -p ${folder}/old && touch ${folder}/a.tmp && rm -f ${folder}/*.tmp && ls ${folder}`)],
    isDone: (_home, results) => last(results, 'old'),
  };
  const kinds = [
    [report, mail, fact],
    [clone, commit, report, tidy],
    [mail, answer, event, job],
    [page, report, fact, skill, tidy],
    [install, report, job],
    [bill, mail, report, event, tidy, fact],
    [skill, clone, answer, report],
  ];
  return kinds[day % kinds.length] ?? [];
}

async function cloned(workspace: string, folder: string): Promise<void> {
  await run('/bin/sh', ['-c', `test -d ${folder}/app || git clone -q src/app.git ${folder}/app`], { cwd: workspace });
}
