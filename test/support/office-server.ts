/*
 * An MCP server over standard input and output with the tools of an office: mail, a calendar or an issue tracker, chosen by the
 * first argument. Tools that only read say so with `readOnlyHint`. What the tools change lives as long as the process.
 */
import { createInterface } from 'node:readline';

interface Tool {
  readonly description: string;
  readonly reads?: boolean;
  readonly destroys?: boolean;
  readonly fields: readonly string[];
  readonly run: (given: Readonly<Record<string, string>>) => string;
}

const sent: string[] = [];
const events = ['2027-03-02 09:00 Dentist', '2027-03-03 14:00 Ann, coffee'];
const issues = new Map([
  ['12', 'Start is slow'],
  ['15', 'Typo on the front page'],
]);

const OFFICES: Readonly<Record<string, Readonly<Record<string, Tool>>>> = {
  mail: {
    list: {
      description: 'Lists the newest messages of the inbox.',
      reads: true,
      fields: [],
      run: () => '1 Ann: Dinner on Sunday?\n2 Power company: Your bill for February\n3 School: Trip on 12 March',
    },
    read: {
      description: 'Reads one message by its number.',
      reads: true,
      fields: ['number'],
      run: ({ number = '' }) =>
        [
          '',
          'Shall we have dinner on Sunday at seven?',
          'Please pay 84 EUR by 15 March.',
          'The bus leaves at 8:15.',
          'Spring has come to town.\n'.repeat(1_000),
        ][Number(number)] ?? 'There is no such message.',
    },
    send: {
      description: 'Sends a message.',
      fields: ['to', 'subject', 'text'],
      run: ({ to = '', subject = '' }) => `Sent as number ${sent.push(`${to}: ${subject}`)} to ${to}.`,
    },
    archive: {
      description: 'Moves a message out of the inbox.',
      destroys: true,
      fields: ['number'],
      run: ({ number = '' }) => `Archived ${number}.`,
    },
  },
  calendar: {
    list: { description: 'Lists the next events.', reads: true, fields: [], run: () => events.join('\n') },
    add: {
      description: 'Adds an event.',
      fields: ['when', 'title'],
      run: ({ when = '', title = '' }) => {
        events.push(`${when} ${title}`);
        return `Added: ${when} ${title}`;
      },
    },
  },
  issues: {
    list: {
      description: 'Lists open issues.',
      reads: true,
      fields: [],
      run: () => Array.from(issues, ([number, title]) => `#${number} ${title}`).join('\n'),
    },
    comment: {
      description: 'Comments on an issue.',
      fields: ['number', 'text'],
      run: ({ number = '' }) => `Commented on #${number}.`,
    },
    close: {
      description: 'Closes an issue.',
      destroys: true,
      fields: ['number'],
      run: ({ number = '' }) => (issues.delete(number) ? `Closed #${number}.` : `There is no issue #${number}.`),
    },
  },
};

const office = process.argv[2] ?? 'mail';
const tools = OFFICES[office] ?? {};

interface Params {
  readonly protocolVersion?: string;
  readonly name?: string;
  readonly arguments?: Readonly<Record<string, string>>;
}

function resultFor(method: string, params: Params): unknown {
  switch (method) {
    case 'initialize':
      return {
        protocolVersion: params.protocolVersion ?? '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: office, version: '1.0.0' },
      };
    case 'tools/list':
      return {
        tools: Object.entries(tools).map(([name, { description, fields, reads = false, destroys = false }]) => ({
          name,
          description,
          inputSchema: {
            type: 'object',
            properties: Object.fromEntries(fields.map((field) => [field, { type: 'string' }])),
            required: fields,
          },
          annotations: { readOnlyHint: reads, destructiveHint: destroys },
        })),
      };
    case 'tools/call': {
      const text = tools[params.name ?? '']?.run(params.arguments ?? {});
      return { content: [{ type: 'text', text: text ?? 'There is no such tool.' }], isError: text === undefined };
    }
    default:
      return {};
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined || method === undefined) continue;
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result: resultFor(method, params ?? {}) })}\n`);
}
