import { waitFor } from '../support/wait.ts';
import { chatOf } from '../support/world.ts';
import { call, type Task } from './home-with-files.ts';

const HISTORY = '[2026-10-02 09:00] The owner and Ann booked the cabin in Tyrol for July.\n';
const HOUSE_SKILL =
  '---\nname: house\ndescription: Our house.\n---\nThe heating is switched on in October. Keep that in mind.';
const BREAD = '---\nname: bread\ndescription: How to bake.\n---\nFlour and water, then 40 minutes.';
const OWN = '---\nname: greet\ndescription: Greets guests.\n---\nSay hello in their language.';

/** Memory, skills, messages and reminders. */
export const MEMORY_TASKS: readonly Task[] = [
  {
    name: 'remember a fact',
    prompt: 'My car is in garage 4, remember that',
    calls: [call('memory_write', { fact: 'The car is in garage 4.' })],
    isDone: async ({ read }) => (await read('memory/MEMORY.md')).includes('garage 4'),
  },
  {
    name: 'correct a fact',
    prompt: 'I moved to Vienna',
    calls: [call('memory_write', { fact: 'The owner lives in Vienna.', replaces: 'lives in Berlin' })],
    isDone: async ({ read }) => !(await read('memory/MEMORY.md')).includes('Berlin'),
  },
  {
    name: 'look up what was agreed',
    prompt: 'What did we book with Ann?',
    prepare: ({ write }) => write('memory/HISTORY.md', HISTORY),
    calls: [call('memory_search', { query: 'cabin Ann' })],
    isDone: (_home, [found = '']) => found.includes('Tyrol'),
  },
  {
    name: 'look something up and remember it',
    prepare: ({ write }) => write('memory/HISTORY.md', HISTORY),
    calls: [
      call('memory_search', { query: 'cabin' }),
      call('memory_write', { fact: 'The cabin in Tyrol is booked for July.' }),
    ],
    isDone: async ({ read }) => (await read('memory/MEMORY.md')).includes('Tyrol'),
  },
  {
    name: 'follow a skill that the owner vouches for',
    prepare: ({ write }) => write('skills/house/SKILL.md', HOUSE_SKILL),
    calls: [call('skill', { name: 'house' }), call('memory_write', { fact: 'The heating goes on in October.' })],
    isDone: async ({ read }) => (await read('memory/MEMORY.md')).includes('October'),
  },
  {
    name: 'follow a skill of somebody else',
    prepare: ({ write }) => write('skills/bread/SKILL.md', BREAD),
    calls: [
      call('skill', { name: 'bread' }),
      call('write_file', { path: 'work/bread.md', content: 'Bake for 40 minutes.\n' }),
    ],
    isDone: async ({ read }) => (await read('work/bread.md')).includes('40'),
  },
  {
    name: 'write a skill',
    prompt: 'Make yourself a skill for greeting guests',
    calls: [
      call('skill', { name: 'skill-creator' }),
      call('write_file', { path: 'skills/greet/SKILL.md', content: OWN }),
    ],
    isDone: async ({ read }) => (await read('skills/greet/SKILL.md')).includes('hello'),
  },
  {
    name: 'say in between how far it is',
    calls: [call('message', { text: 'Half of it is done.' })],
    isDone: ({ world }) => chatOf(world).includes('Half of it is done.'),
  },
  {
    name: 'tell my sister something',
    prompt: 'Tell Ann that I am late',
    calls: [call('message', { chat: 'telegram:43', text: 'I am late.' })],
    isDone: ({ world }) => waitFor(() => chatOf(world, 43).includes('I am late.')),
  },
  {
    name: 'remind me',
    prompt: 'Remind me in two hours to stretch',
    calls: [
      call('skill', { name: 'cron' }),
      call('cron', { action: 'add', kind: 'message', when: 'in 2h', text: 'Stretch!' }),
    ],
    isDone: async ({ read }) => (await read('cron/jobs.json')).includes('Stretch!'),
  },
  {
    name: 'do something every morning',
    prompt: 'Tell me the weather every morning at seven',
    calls: [
      call('cron', {
        action: 'add',
        kind: 'agent',
        when: '0 7 * * *',
        text: 'Say what the weather is in Berlin today.',
      }),
      call('cron', { action: 'list' }),
    ],
    isDone: (_home, results) => results.at(-1)?.includes('weather') === true,
  },
  {
    name: 'remember what a forwarded message says',
    prompt: 'The dentist moved the appointment to Friday.',
    extra: { forward_date: 1 },
    asks: 1,
    calls: [call('memory_write', { fact: 'The dentist is on Friday.' })],
    isDone: async ({ read }) => (await read('memory/MEMORY.md')).includes('Friday'),
  },
];
