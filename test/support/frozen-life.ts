import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CHATS } from './agents-world.ts';
import type { ModelApiRequest, ScriptedCall, Step } from './model-script.ts';
import { startEverywhere, type Everywhere } from './three-platforms.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER } from './world.ts';

const OFFICE = fileURLToPath(new URL('office-server.ts', import.meta.url));
const PLUGIN = fileURLToPath(new URL('../fixtures/plugins/paper-mail', import.meta.url));
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);
const HOUSE = '---\nname: house\ndescription: Our house.\n---\nThe heating is switched on in October.\n';
const GOOD_MORNING = '---\nname: bread\ndescription: How to bake bread.\n---\nFlour and water, then 40 minutes.\n';
const HEARTBEAT = '# Heartbeat\n\n- [ ] Look whether the invoice of Hofer was paid.\n';
const TRUSTED = 43;
const GUEST = 44;
const UNKNOWN = 45;
const slow = { timeoutMs: 90_000 };

const call = (name: string, given: Readonly<Record<string, unknown>>): Step => ({
  calls: [{ name, arguments: given }],
});

/** What the model does when it is told these words; anything else it answers in words. */
type Plan = Map<string, Step[]>;

/**
 * Lives in a new home through real channels. At the end `leave` gets the home while a turn and questions are open, and has to end
 * this process.
 */
export async function liveFrozenLife(leave: (home: string) => void): Promise<void> {
  const plan: Plan = new Map();
  await using everywhere = await startEverywhere({
    furnish,
    config: { agent: { timezone: 'Europe/Vienna' } },
  });
  const { world } = everywhere;
  world.model.setHandler((request) => stepFor(plan, request));
  await waitFor(
    async () => (await world.assistant.call('toolsList', {})).some(({ name }) => name === 'mcp_mail_list'),
    slow,
  );
  const says = async (words: string, ...steps: (Step | ScriptedCall)[]): Promise<void> => {
    plan.set(
      words,
      steps.map((step) => (typeof step === 'object' && 'arguments' in step ? { calls: [step] } : step)),
    );
    const before = chatOf(world).length;
    const end = steps.at(-1);
    world.telegram.userSays(OWNER, words);
    const answered = new Set<string>();
    let [count, since] = [0, performance.now()];
    await waitFor(
      () => {
        const sent = world.telegram.sentMessages.filter(({ chatId }) => chatId === OWNER).slice(before);
        for (const { messageId, visibleText } of sent) {
          const code = /\/approve (?<code>\w+)/u.exec(visibleText)?.groups?.['code'];
          if (code === undefined || answered.has(code)) continue;
          answered.add(code);
          const answer = words.endsWith('(no)') ? 'deny' : words.endsWith('(always)') ? 'always' : 'approve';
          world.telegram.userPresses(OWNER, messageId, `${answer}:${code}`);
        }
        // What follows an approval comes a little later.
        if (sent.length !== count) [count, since] = [sent.length, performance.now()];
        if (typeof end === 'string' && !sent.some(({ visibleText }) => visibleText.includes(end))) return false;
        return sent.length > answered.size && performance.now() - since > 400;
      },
      { ...slow, what: `a reply to ${words}` },
    );
    process.stdout.write(`  ${words} → ${chatOf(world).at(-1)?.slice(0, 100).replaceAll('\n', ' ') ?? ''}\n`);
  };
  await people(everywhere, says);
  await memory(everywhere, says);
  await work(everywhere, says);
  await elsewhere(everywhere);
  await leftOpen(everywhere, plan);
  leave(world.home);
}

function stepFor(plan: Plan, { view }: ModelApiRequest): Step {
  if (view.tools.length === 1 && view.tools[0] === 'save_memory') {
    return call('save_memory', { history_entry: 'They planned the month.', memory_update: '' });
  }
  if (/hold on/u.test(view.lastUserText)) return { fault: 'hang' };
  for (const [words, steps] of plan) {
    if (view.lastUserText.includes(words) && steps.length > 0) return steps.shift() ?? 'Done.';
  }
  return `Done: ${view.lastUserText.split('\n').at(-1)?.slice(0, 40) ?? ''}`;
}

async function furnish(home: string): Promise<void> {
  const put = async (path: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(join(home, path, '..'), { recursive: true, mode: 0o700 });
    await writeFile(join(home, path), content, { mode: 0o600 });
  };
  await put('workspace/office-server.ts', await readFile(OFFICE));
  await put('workspace/skills/house/SKILL.md', HOUSE);
  await put('workspace/skills/bread/SKILL.md', GOOD_MORNING);
  await put('workspace/HEARTBEAT.md', HEARTBEAT);
  await put('workspace/memory/MEMORY.md', '# Memory\n\n- The owner lives in Berlin.\n- Ann is the owner’s sister.\n');
  await put(
    'workspace/memory/HISTORY.md',
    '[2026-10-02 09:00] The owner and Ann booked the cabin in Tyrol for July.\n',
  );
  for (const file of ['package.json', 'index.js'])
    await put(`plugins/paper-mail/${file}`, await readFile(join(PLUGIN, file)));
  const path = join(home, 'config.json');
  const settings = JSON.parse(await readFile(path, 'utf8'));
  const server = (office: string): object => ({ command: 'node', args: ['office-server.ts', office] });
  const all = {
    ...settings,
    agents: { kim: { routes: [`telegram:${CHATS.kim}`] } },
    mcpServers: { mail: server('mail'), calendar: server('calendar') },
    skills: { entries: { house: { trusted: true } } },
    tools: { exec: { mode: 'ask' } },
  };
  await writeFile(path, JSON.stringify(all, null, 2), { mode: 0o600 });
}

type Says = (words: string, ...steps: (Step | ScriptedCall)[]) => Promise<void>;

/** Someone trusted, a guest, and someone whose code nobody has used. */
async function people({ world }: Everywhere, says: Says): Promise<void> {
  for (const [person, role] of [
    [TRUSTED, ''],
    [GUEST, ' guest'],
    [UNKNOWN, null],
  ] as const) {
    world.telegram.userSays(person, 'Hello, may I?', {
      from: { id: person, is_bot: false, first_name: `Person ${person}` },
    });
    const code = await waitFor(() => /\b[A-HJ-NP-Z2-9]{6,10}\b/u.exec(chatOf(world, person).join(' '))?.[0], {
      ...slow,
      what: `a code for ${person}: ${chatOf(world, person).join(' ')}`,
    });
    if (role === null) continue;
    await says(`/pair ${code}${role}`);
    const before = chatOf(world, person).length;
    world.telegram.addFile(`d${person}`, Buffer.from('name,amount\nLind,1180\n'), `documents/list-${person}.csv`);
    world.telegram.userSays(person, '', {
      from: { id: person, is_bot: false, first_name: `Person ${person}` },
      text: undefined,
      document: { file_id: `d${person}`, file_name: 'list.csv', mime_type: 'text/csv' },
      caption: 'Please keep this list.',
    });
    await waitFor(() => chatOf(world, person).length > before, { ...slow, what: `a reply to ${person}` });
  }
  await says('/pair WRONGCDE');
}

async function memory(_everywhere: Everywhere, says: Says): Promise<void> {
  await says('My car is in garage 4', call('memory_write', { fact: 'The car is in garage 4.' }), 'Noted.');
  await says(
    'I moved to Vienna',
    call('memory_write', { fact: 'The owner lives in Vienna.', replaces: 'lives in Berlin' }),
    'Noted.',
  );
  await says('/mem');
  await says('Something after the summary', 'Yes.');
  await says('/new');
  await says('The cabin, when was that?', call('memory_search', { query: 'cabin Tyrol' }), 'In July.');
}

/** Files, tools, jobs, subagents, questions, commands. */
async function work({ world }: Everywhere, says: Says): Promise<void> {
  await says('Write the list', call('write_file', { path: 'notes/list.md', content: '- milk\n' }), 'Written.');
  await says(
    'Add bread',
    call('edit_file', { path: 'notes/list.md', oldText: '- milk', newText: '- milk\n- bread' }),
    'Added.',
  );
  await says('/undo');
  await writeFile(join(world.workspace, 'long.txt'), 'A line of a long file.\n'.repeat(6_000));
  await says(
    'Read the long file',
    call('grep', { pattern: 'line', path: 'long.txt' }),
    call('read_file', { path: 'long.txt' }),
    'It is long.',
  );
  await says('What is in my mail?', call('mcp_mail_list', {}), call('mcp_mail_read', { number: '2' }), 'A bill.');
  await says('And the newsletter?', call('mcp_mail_read', { number: '4' }), 'Spring has come.');
  await says('Bake', call('skill', { name: 'bread' }), 'Forty minutes.');
  const add = (more: object): Step => call('cron', { action: 'add', ...more });
  await says('/new');
  await says('Remind me', add({ kind: 'message', when: 'in 20d', text: 'Stretch!' }), 'Set.');
  await says('Every morning', add({ kind: 'agent', when: '0 7 * * *', text: 'Say what the weather is.' }), 'Set.');
  await says('List every hour', add({ kind: 'command', when: 'every 1h', text: ',list_dir path=notes' }), 'Set.');
  await says('In a second', add({ kind: 'message', when: 'in 1 second', text: 'The second is over.' }), 'Set.');
  await waitFor(() => chatOf(world).includes('The second is over.'), slow);
  world.telegram.addFile('p1', PNG, 'photos/p1.png');
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, '', {
    text: undefined,
    photo: [{ file_id: 'p1', file_size: PNG.length }],
    caption: 'What is this?',
  });
  await waitFor(() => chatOf(world).length > before, slow);
  await says('Count in the background', call('spawn', { task: 'count the files', label: 'counting' }), 'Started.');
  for (const command of [
    '/status',
    '/tape',
    '/busy steer',
    '/model openai/scripted-model',
    '/why',
    '/cron',
    '/memory',
    ',list_dir path=notes',
    '/retry',
  ])
    await says(command);
  await says('How was that?', 'Very good.');
  await waitFor(async () => (await world.assistant.call('outboxList', {})).length === 0, {
    ...slow,
    what: 'that all is sent',
  });
  const good = world.telegram.sentMessages.findLast(({ visibleText }) => visibleText === 'Very good.');
  if (good === undefined) throw new Error('There is no answer to react to');
  world.telegram.userReacts(OWNER, good.messageId, { after: ['👍'] });
  await says('Run a command (no)', call('exec', { command: 'echo no' }), 'It was not run.');
  await says('Run it again', call('exec', { command: 'echo yes' }), 'It was run.');
  // While strangers have a say nothing can be allowed for good.
  await says('/new');
  await says('Run it (always)', call('exec', { command: 'wc -l long.txt' }), 'It may run from now on.');
  // A reply that Telegram refuses for good.
  world.telegram.setFaultHandler(({ method, payload }) =>
    method === 'sendMessage' && JSON.stringify(payload).includes('refused') ? { status: 400 } : undefined,
  );
  world.telegram.userSays(OWNER, 'Say the refused words');
  await waitFor(() => dead(world.home), { ...slow, what: 'a reply that is given up' });
  world.telegram.setFaultHandler(() => undefined);
}

/** Whether the journal holds a reply that could not be delivered; asked by another process, as SQLite's locks are this one's. */
async function dead(home: string): Promise<boolean> {
  const look = `const { DatabaseSync } = require('node:sqlite');
    const db = new DatabaseSync(${JSON.stringify(join(home, 'state.db'))}, { readOnly: true });
    console.log(db.prepare("SELECT count(*) AS n FROM outbound WHERE state = 'dead'").get().n);`;
  return Number((await promisify(execFile)(process.execPath, ['-e', look])).stdout) > 0;
}

/** The same owner on the other platforms, and the second assistant in its group. */
async function elsewhere(everywhere: Everywhere): Promise<void> {
  await everywhere.turn('discord', 'Good morning from Discord');
  await everywhere.turn('slack', 'Good morning from Slack');
  const { world } = everywhere;
  const { username } = world.telegram.bot;
  const before = chatOf(world, CHATS.kim).length;
  world.telegram.userSays(CHATS.kim, `@${username} Hello Kim`, {
    from: { id: OWNER, is_bot: false, first_name: 'Ada' },
    chat: { id: CHATS.kim, type: 'supergroup', title: 'A group' },
    entities: [{ type: 'mention', offset: 0, length: username.length + 1 }],
  });
  await waitFor(() => chatOf(world, CHATS.kim).length > before, { ...slow, what: 'a reply of kim' });
}

/** A question of each kind that waits, and a turn whose model never answers with a message behind it. */
async function leftOpen(everywhere: Everywhere, plan: Plan): Promise<void> {
  const { world } = everywhere;
  plan.set('Run what waits', [call('exec', { command: 'echo waits' })]);
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, 'Run what waits');
  await waitFor(
    () =>
      chatOf(world)
        .slice(before)
        .some((line) => line.includes('/approve')),
    { ...slow, what: `the approval; the chat ends with: ${chatOf(world).slice(-6).join(' | ')}` },
  );
  plan.set('Ask me in Discord', [call('ask_user', { question: 'Tea or coffee?', choices: ['Tea', 'Coffee'] })]);
  everywhere.sends('discord', 'Ask me in Discord');
  await waitFor(() => everywhere.texts('discord').some((line) => line.includes('Tea or coffee?')), {
    ...slow,
    what: 'the question',
  });
  const asked = world.model.requests.length;
  everywhere.sends('slack', 'Please hold on');
  await waitFor(() => world.model.requests.length > asked, { ...slow, what: 'the call that hangs' });
  everywhere.sends('slack', 'And a message behind it');
  const journal = join(world.home, 'state.db');
  for (const part of ['And a message behind it', '["👀"]']) {
    await waitFor(async () => (await readFile(`${journal}-wal`)).includes(part), { ...slow, what: part });
  }
}
