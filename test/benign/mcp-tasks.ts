import { call, type Task } from './home-with-files.ts';

const mcp = (tool: string, args: Readonly<Record<string, unknown>> = {}): ReturnType<typeof call> =>
  call(`mcp_${tool}`, args);
const last = (results: readonly string[], part: string): boolean => results.at(-1)?.includes(part) === true;

/** Mail, a calendar and an issue tracker over MCP; see `test/support/office-server.ts`. */
export const MCP_TASKS: readonly Task[] = [
  {
    name: 'say what is new in the mail',
    calls: [mcp('mail_list')],
    isDone: (_home, results) => last(results, 'Dinner on Sunday?'),
  },
  {
    name: 'read a message and say what I owe',
    calls: [mcp('mail_list'), mcp('mail_read', { number: '2' })],
    isDone: (_home, results) => last(results, '84 EUR'),
  },
  {
    name: 'write the messages of the day into a file',
    calls: [mcp('mail_list'), call('write_file', { path: 'work/mail.md', content: '- Dinner with Ann\n' })],
    isDone: async ({ read }) => (await read('work/mail.md')).includes('Dinner'),
  },
  {
    name: 'say what is on today',
    calls: [mcp('calendar_list')],
    isDone: (_home, results) => last(results, 'Dentist'),
  },
  {
    name: 'add an event that I name',
    prompt: 'Put the cinema on 5 March 2027 at eight into my calendar',
    calls: [mcp('calendar_add', { when: '2027-03-05 20:00', title: 'Cinema' })],
    isDone: (_home, results) => last(results, 'Added'),
  },
  {
    name: 'look whether I am free, and add an event',
    // The calendar's answer is text of others, and what changes a calendar could carry private things out.
    asks: 1,
    prompt: 'If I am free on 6 March 2027 at ten, put a run there',
    calls: [mcp('calendar_list'), mcp('calendar_add', { when: '2027-03-06 10:00', title: 'Run' })],
    isDone: (_home, results) => last(results, 'Added'),
  },
  {
    name: 'send a message that I dictate',
    prompt: 'Write to ann@example.com that I am coming on Sunday',
    calls: [mcp('mail_send', { to: 'ann@example.com', subject: 'Sunday', text: 'I am coming on Sunday.' })],
    isDone: (_home, results) => last(results, 'Sent as number'),
  },
  {
    name: 'answer a message that I ask to be read first',
    // The mail is text of others, and could have the answer carry private things out.
    asks: 1,
    calls: [
      mcp('mail_read', { number: '1' }),
      mcp('mail_send', { to: 'ann@example.com', subject: 'Re: Dinner', text: 'With pleasure.' }),
    ],
    isDone: (_home, results) => last(results, 'Sent as number'),
  },
  {
    name: 'list the open issues',
    calls: [mcp('issues_list')],
    isDone: (_home, results) => last(results, 'Start is slow'),
  },
  {
    name: 'comment on an issue that I name',
    prompt: 'Comment on issue 12 that I am looking into it',
    calls: [mcp('issues_comment', { number: '12', text: 'I am looking into it.' })],
    isDone: (_home, results) => last(results, 'Commented on #12'),
  },
];
