import type { HistoryItem, WaitingQuestion } from '../../../src/gateway/http/wire.ts';
import { DoubleGateway, Refusal, type Operations } from './gateway.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let made = 0;

/** One item of a tape, so many milliseconds ago. */
export function item(
  ago: number,
  kind: HistoryItem['kind'],
  text: string,
  facts: Partial<HistoryItem> = {},
): HistoryItem {
  made += 1;
  return { id: `item-${made}`, entry: `entry-${made}`, turn: 'turn-1', at: Date.now() - ago, kind, text, ...facts };
}

const USAGE = { input: 18_240, output: 512, costUsd: 0.0214, model: 'anthropic/claude-sonnet-5', durationMs: 8_400 };

const morning = (): readonly HistoryItem[] => [
  item(52 * MINUTE, 'user', 'Which invoices are still open? Put them into a table, oldest first.'),
  item(52 * MINUTE - 2_000, 'reasoning', 'The invoices lie in the workspace as CSV. I read the file and sort it.'),
  item(52 * MINUTE - 3_000, 'call', '{"path":"invoices/2026.csv"}', { name: 'read_file', callId: 'a' }),
  item(52 * MINUTE - 3_400, 'result', 'number,customer,amount,due,paid\n1041,Hofer,420.00,2026-10-31,no', {
    callId: 'a',
  }),
  item(52 * MINUTE - 5_000, 'call', '{"command":"sort -t, -k4 invoices/2026.csv | grep no$"}', {
    name: 'exec',
    callId: 'b',
  }),
  item(52 * MINUTE - 6_200, 'result', '1041,Hofer,420.00,2026-10-31,no\n1044,Lind,1180.00,2026-11-15,no', {
    callId: 'b',
  }),
  item(
    52 * MINUTE - 8_000,
    'assistant',
    'Two invoices are open, **1,600.00** in all:\n\n| Invoice | Customer | Amount | Due |\n|---|---|---:|---|\n| 1041 | Hofer | 420.00 | 31 October |\n| 1044 | Lind | 1,180.00 | 15 November |\n\nHofer is four weeks late. Shall I write a reminder?',
    { usage: USAGE },
  ),
  item(9 * MINUTE, 'user', 'Yes, a friendly one. And note that Lind pays at the end of the month.', { turn: 'turn-2' }),
  item(
    9 * MINUTE - 3_000,
    'call',
    JSON.stringify({
      path: 'customers.md',
      oldText: '## Lind\nPays by transfer.\n',
      newText: '## Lind\nPays by transfer, at the end of the month.\n',
    }),
    { name: 'edit_file', callId: 'c', turn: 'turn-2' },
  ),
  item(9 * MINUTE - 3_200, 'result', 'Replaced 1 place in customers.md.', { callId: 'c', turn: 'turn-2' }),
  item(
    9 * MINUTE - 7_000,
    'assistant',
    'Noted in `customers.md`. Here is the reminder:\n\n```text\nDear Ms Hofer,\n\nour invoice 1041 of 420.00 was due on 31 October. Perhaps it\nwas overlooked? Please let us know if anything is unclear.\n```\n\nI can send it on Monday at 9, if you like.',
    { usage: { ...USAGE, costUsd: 0.0127, durationMs: 6_100 }, turn: 'turn-2' },
  ),
];

export const APPROVAL: WaitingQuestion = {
  code: 'K7Q2',
  kind: 'approval',
  session: 'web:main',
  title: 'Run a command?',
  detail: 'curl -sS -X POST https://mail.example.com/send --data @reminder.json',
  reason: 'It sends something to mail.example.com.',
  choices: [],
  always: null,
  deadline: Date.now() + 23 * HOUR,
};

/** A gateway of somebody who has used it for some weeks. */
export async function livedIn(): Promise<DoubleGateway> {
  const double = await DoubleGateway.open();
  double.happened('web:main', ...morning());
  double.happened(
    'telegram:4711',
    item(3 * HOUR, 'user', 'Good morning'),
    item(3 * HOUR, 'assistant', 'Good morning!'),
  );
  double.operations = { ...conversations(double), ...files(), ...people(), ...schedule(), ...skills(), ...other() };
  return double;
}

function conversations(double: DoubleGateway): Operations {
  const facts = (session: string, title: string, ago: number): object => ({
    session,
    channel: session.split(':')[0],
    title,
    changedAt: Date.now() - ago,
    size: 20_000,
    running: false,
  });
  return {
    info: () => ({ version: '1.0.0', transcription: false }),
    commands: () => [],
    sessionsList: () => ({
      sessions: [
        facts('web:main', 'Open invoices and a reminder', 9 * MINUTE),
        facts('telegram:4711', 'Good morning', 3 * HOUR),
        facts('web:01JD0000000000000000000001', 'Three days in Ljubljana', 2 * DAY),
        facts('discord:99:1234', 'Who brings the projector?', 4 * DAY),
        facts('web:01JD0000000000000000000002', 'Read the lease and list what is unusual', 12 * DAY),
      ],
      next: null,
    }),
    sessionsSearch: ({ text }) => [
      {
        source: 'session',
        session: 'telegram:4711',
        at: Date.now() - 3 * HOUR,
        role: 'user',
        snippet: `… ${String(text)} …`,
      },
    ],
    sessionsExport: ({ session }) => ({
      name: 'conversation.md',
      text: (double.history.get(String(session)) ?? []).map(({ text }) => text).join('\n\n'),
    }),
    modelsList: () => ({
      models: ['anthropic/claude-sonnet-5', 'anthropic/claude-haiku-5', 'ollama/qwen4'],
      current: 'anthropic/claude-sonnet-5',
      chosen: null,
    }),
  };
}

const MEMORY = `# Memory

## People
- Hofer: four weeks late with invoice 1041; likes letters, not calls.
- Lind: pays at the end of the month.

## Habits
- Works from 8 to 16; no messages after 21.
- Tables rather than long sentences.
`;

function files(): Operations {
  const texts = new Map([
    ['SOUL.md', 'You are calm and exact.\n'],
    ['USER.md', '# About me\n'],
    ['MEMORY.md', MEMORY],
    ['HISTORY.md', ''],
  ]);
  const versions = new Map<string, { id: string; at: number; reason: string; text: string }[]>([
    ['MEMORY.md', [{ id: 'v1', at: Date.now() - DAY, reason: 'after a conversation', text: '# Memory\n' }]],
  ]);
  const hash = (text: string): string => `${text.length}:${text}`;
  const keep = (name: string, reason: string): void => {
    const before = versions.get(name) ?? [];
    const id = `v${before.length + 2}`;
    versions.set(name, [{ id, at: Date.now(), reason, text: texts.get(name) ?? '' }, ...before]);
  };
  const about: Record<string, string> = {
    'SOUL.md': 'Who the assistant is and how it speaks.',
    'USER.md': 'Who you are.',
    'MEMORY.md': 'What it remembers from conversations.',
    'HISTORY.md': 'What happened, one line for each conversation.',
  };
  return {
    filesList: () =>
      [...texts].map(([name, text]) => ({
        name,
        description: about[name],
        size: text.length,
        changedAt: null,
        maxCharacters: 8_000,
        writable: name !== 'HISTORY.md',
      })),
    filesRead: ({ name }) => {
      const text = texts.get(String(name)) ?? '';
      return { text, hash: hash(text), maxCharacters: 8_000, writable: name !== 'HISTORY.md', locked: null };
    },
    filesWrite: ({ name, text, hash: given }) => {
      const [which, present] = [String(name), texts.get(String(name)) ?? ''];
      if (given !== hash(present)) throw new Refusal('file-changed', 'It was changed in the meantime.');
      keep(which, 'edited in the page');
      texts.set(which, String(text));
      return { hash: hash(String(text)) };
    },
    filesLog: ({ name }) =>
      (versions.get(String(name)) ?? []).map(({ text, ...version }) => ({
        ...version,
        size: text.length,
        kind: 'kept',
      })),
    filesVersion: ({ name, id }) => {
      const version = (versions.get(String(name)) ?? []).find((one) => one.id === id);
      return { version, text: version?.text };
    },
    filesRestore: ({ name, id }) => {
      const text = (versions.get(String(name)) ?? []).find((one) => one.id === id)?.text ?? '';
      keep(String(name), 'restored in the page');
      texts.set(String(name), text);
      return { hash: hash(text) };
    },
  };
}

function people(): Operations {
  const pending = [
    { channel: 'telegram', id: '815', name: 'Mara', code: 'QX7-P2M', expiresAt: Date.now() + 40 * MINUTE },
  ];
  const let_in = [
    { channel: 'telegram', id: '4711', name: 'Jonas', role: 'owner', addedAt: Date.now() - 60 * DAY, addedBy: 'cli' },
  ];
  return {
    pairList: () => ({ people: let_in, pending, lockedUntil: null, hasOwner: true }),
    pairApprove: ({ code, role }) => {
      const at = pending.findIndex((one) => one.code === code);
      const [one] = at === -1 ? [] : pending.splice(at, 1);
      if (one !== undefined) let_in.push({ ...one, role: String(role), addedAt: Date.now(), addedBy: 'web' });
      return { may: '' };
    },
    pairRemove: ({ person }) => {
      const at = let_in.findIndex(({ channel, id }) => `${channel}:${id}` === person);
      if (at !== -1) let_in.splice(at, 1);
      return { ownerless: null };
    },
  };
}

function schedule(): Operations {
  const job = (id: string, text: string, when: string, hours: number, state = 'active'): object => ({
    id,
    kind: 'agent',
    text,
    schedule: when,
    chat: 'telegram:4711',
    session: 'own',
    state,
    by: 'telegram:4711',
    next: [new Date(Date.now() + hours * HOUR).toISOString()],
    code: 'c0de',
  });
  const jobs = [
    job('mail', 'Read my mail and tell me what needs an answer today.', '0 8 * * 1-5', 14),
    job('water', 'Remind me to water the plants.', 'every 3d', 40),
    job('report', 'Write the weekly report from the notes and show it to me.', '0 16 * * 5', 60, 'off'),
  ];
  const runs: object[] = [
    { due: new Date(Date.now() - 10 * HOUR).toISOString(), execution: 'done', delivery: 'delivered', reason: null },
  ];
  return {
    cron: ({ action }) => {
      if (action === 'run') {
        runs.unshift({ due: new Date().toISOString(), execution: 'done', delivery: 'delivered', reason: null });
      }
      return { text: '', jobs, runs };
    },
    why: () => [
      { at: Date.now() - 10 * HOUR, what: 'Job mail', outcome: 'told', reason: 'Three letters need an answer.' },
      { at: Date.now() - 12 * HOUR, what: 'Heartbeat', outcome: 'silent', reason: 'Nothing was due.' },
    ],
  };
}

function skills(): Operations {
  const facts = { source: 'package', enabled: true, found: false, missing: [], warnings: [] };
  const list = [
    { ...facts, name: 'pdf', description: 'Fills in and reads PDF forms.' },
    {
      ...facts,
      name: 'github',
      description: 'Issues, pull requests and reviews.',
      missing: [{ what: 'the program gh', how: 'apt install gh' }],
    },
    { ...facts, name: 'travel', description: 'Plans trips and keeps the papers together.', source: 'workspace' },
  ];
  return {
    skillsList: () => list,
    skillsSet: ({ name, enabled }) => {
      const at = list.findIndex((one) => one.name === name);
      const found = list[at];
      if (found !== undefined) list[at] = { ...found, enabled: enabled === true };
      return null;
    },
    skillsInstall: ({ confirm }) => {
      if (confirm !== undefined)
        list.push({ ...facts, name: 'recipes', description: 'Keeps recipes.', source: 'workspace' });
      return {
        name: 'recipes',
        description: 'Keeps recipes.',
        files: [{ path: 'SKILL.md', size: 900, executable: false }],
        risks: [{ title: 'runs a command', where: 'SKILL.md:12', line: 'python3 scale.py "$1"' }],
        warnings: [],
        replaces: false,
        hash: 'hash',
        installed: confirm !== undefined,
      };
    },
    skillsRemove: () => null,
  };
}

function other(): Operations {
  const models = ['anthropic/claude-sonnet-5', 'anthropic/claude-haiku-5', 'ollama/qwen4'];
  const sums = (name: string, share: number): Record<string, unknown> => ({
    name,
    calls: Math.round(18 * share),
    input: Math.round(310_000 * share),
    cached: Math.round(240_000 * share),
    output: Math.round(12_000 * share),
    costUsd: name.startsWith('ollama') ? 0 : 0.42 * share,
    unpriced: 0,
  });
  return {
    usageSeries: ({ days }) => ({
      since: 0,
      rows: models.map((name, at) => sums(name, 24 / (at + 1))),
      days: Array.from({ length: Number(days) }, (_, at) => {
        const day = new Date(Date.now() - at * DAY).toISOString().slice(0, 10);
        return models.map((name, nth) => ({ ...sums(name, (1.2 + Math.sin(at * 1.7 + nth)) / (nth + 1)), day }));
      }).flat(),
      cacheHitRate: 0.77,
      budgets: [{ name: 'agent.budget.dayUsd', unit: 'usd', limit: 5, used: 1.31, left: 3.69 }],
    }),
    health: () => ({
      startedAt: Date.now() - 6 * DAY,
      channels: [
        { name: 'telegram', state: 'connected', detail: null, queued: 0 },
        {
          name: 'discord',
          state: 'reconnecting',
          detail: 'Discord closed the connection; next try in 8 s.',
          queued: 1,
        },
      ],
      queues: { runningTurns: 0, inbound: 0, outbound: 1, deadLetters: 1 },
      sandbox: { state: 'available', detail: 'bubblewrap 0.11.0' },
      versions: { assistant: '1.0.0', node: '24.19.0' },
      disk: { freeBytes: 81e9, totalBytes: 240e9, state: 'ok', reason: null },
      storage: 'Journal 14 MB, conversations 61 MB.',
      providers: [{ name: 'anthropic', state: 'ok', detail: null, at: Date.now() - 9 * MINUTE }],
      warnings: [],
    }),
    outboxList: () => [
      {
        id: 'o1',
        channel: 'discord',
        chat: '99:1234',
        kind: 'answer',
        state: 'dead',
        reason: 'Discord refused it five times: Missing Access.',
        attempts: 5,
        createdAt: Date.now() - 2 * DAY,
        text: 'The projector is booked for Thursday.',
      },
    ],
    outboxRetry: () => null,
    outboxDrop: () => null,
    inboxList: () => [],
  };
}
