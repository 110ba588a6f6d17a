import type { TestCall } from '../support/tool-context.ts';

interface Asking {
  /** What the page says. */
  readonly about: string;
  /** Calls that are asked about, one for each thing that the page names: arguments, then what is different about the call. */
  readonly examples: readonly (readonly [Readonly<Record<string, unknown>>, Partial<TestCall>?])[];
}

const OTHERS: Partial<TestCall> = { taint: { untrusted: true, private: true } };
const GROUP: Partial<TestCall> = { ...OTHERS, chatType: 'group' };

const WRITES =
  'files that usually hold secrets, files that programs start from; with words of others, the assistant’s own files';
const writing = (args: (path: string) => Readonly<Record<string, unknown>>): Asking => ({
  about: WRITES,
  examples: [[args('.env')], [args('.bashrc')], [args('SOUL.md'), OTHERS]],
});

/** What each tool asks a person about before it runs. Tools that are not here ask about nothing. */
export const ASKS: Readonly<Record<string, Asking>> = {
  apply_patch: writing((path) => ({ edits: [{ path, oldText: '', newText: 'x' }] })),
  edit_file: writing((path) => ({ path, oldText: '', newText: 'x' })),
  write_file: writing((path) => ({ path, content: 'x' })),
  read_file: {
    about: 'files that usually hold secrets; in a group with words of others, every file',
    examples: [[{ path: '.env' }], [{ path: 'notes.md' }, GROUP]],
  },
  list_dir: { about: 'folders that usually hold secrets', examples: [[{ path: '.ssh' }]] },
  glob: { about: 'folders that usually hold secrets', examples: [[{ pattern: '*', path: '.ssh' }]] },
  grep: {
    about: 'files and folders that usually hold secrets; in a group with words of others, every search',
    examples: [[{ pattern: 'x', path: '.ssh' }], [{ pattern: 'x' }, GROUP]],
  },
  exec: {
    about:
      'commands outside the sandbox (every command where no sandbox works), commands with the network that reach private hosts or publish something',
    examples: [[{ command: 'date', outside: true }], [{ command: 'curl http://10.0.0.1', network: true }]],
  },
  process: {
    about: 'in a group with words of others, the output of commands',
    examples: [[{ action: 'poll', id: 'k3f9x2ab' }, GROUP]],
  },
  memory_search: { about: 'in a group with words of others, every search', examples: [[{ query: 'dentist' }, GROUP]] },
  memory_write: {
    about: 'with words of others, every change',
    examples: [[{ fact: 'Anna was born on 4 May' }, OTHERS]],
  },
  message: {
    about: 'with words of others, messages to another chat; in a group with them, sending files',
    examples: [
      [{ text: 'hello', chat: 'telegram:12345' }, OTHERS],
      [{ text: 'hello', media: ['notes.md'] }, GROUP],
    ],
  },
  cron: {
    about: 'with words of others, new and changed jobs',
    examples: [[{ action: 'add', when: 'in 20m', text: 'tea' }, OTHERS]],
  },
  web_fetch: {
    about: 'with words of others and private text, addresses that no one gave',
    examples: [[{ url: 'https://example.org/x' }, OTHERS]],
  },
};
