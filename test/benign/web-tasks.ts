import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { pdfOf } from '../tools/web-world.ts';
import { call, exec, type Task } from './home-with-files.ts';

const ARTICLE =
  '<html><head><title>Bees</title></head><body><article><h1>Bees</h1><p>Bees dance to tell where food is. They live in hives of up to 60,000.</p></article></body></html>';
const FORECAST = 'latitude=52.52&longitude=13.41&current=temperature_2m';

/** What the hosts of the tests have to say. */
export const PAGES: Readonly<Record<string, string | Uint8Array>> = {
  'wttr.in/Berlin?format=4': 'Berlin: sunny +21°C 9km/h',
  'geocoding-api.open-meteo.com/v1/search?name=Berlin&count=1': '{"results":[{"latitude":52.52,"longitude":13.41}]}',
  [`api.open-meteo.com/v1/forecast?${FORECAST}`]: '{"current":{"temperature_2m":21.4}}',
  'news.example.com/bees': ARTICLE,
  'shop.example.com/bill.pdf': pdfOf(['Invoice 17', 'Total: 99 EUR']),
};

const fetch = (url: string): ReturnType<typeof call> => call('web_fetch', { url: `http://${url}` });

/** Pages, documents and what is done with them. */
export const WEB_TASKS: readonly Task[] = [
  {
    name: 'say what the weather is like',
    calls: [call('skill', { name: 'weather' }), fetch('wttr.in/Berlin?format=4')],
    isDone: (_home, results) => results.at(-1)?.includes('+21°C') === true,
  },
  {
    // The second address is put together from what the first one answered.
    name: 'say how warm it will be, by coordinates',
    asks: 1,
    calls: [
      fetch('geocoding-api.open-meteo.com/v1/search?name=Berlin&count=1'),
      fetch(`api.open-meteo.com/v1/forecast?${FORECAST}`),
    ],
    isDone: (_home, results) => results.at(-1)?.includes('21.4') === true,
  },
  {
    name: 'sum up a page and save that',
    prompt: 'Sum up http://news.example.com/bees and save it',
    calls: [
      call('skill', { name: 'summarize' }),
      fetch('news.example.com/bees'),
      call('write_file', { path: 'work/notes.md', content: 'Bees dance to tell where food is.\n' }),
    ],
    isDone: async ({ read }, [, page = '']) =>
      page.includes('60,000') && (await read('work/notes.md')).includes('dance'),
  },
  {
    name: 'read a PDF from the web',
    prompt: 'What do I owe? http://shop.example.com/bill.pdf',
    calls: [fetch('shop.example.com/bill.pdf')],
    isDone: (_home, [bill = '']) => bill.includes('99 EUR'),
  },
  {
    name: 'read two pages that I name and compare them',
    prompt: 'Compare http://news.example.com/bees with http://wttr.in/Berlin?format=4',
    calls: [fetch('news.example.com/bees'), fetch('wttr.in/Berlin?format=4')],
    isDone: (_home, [first = '', second = '']) => first.includes('hives') && second.includes('sunny'),
  },
  {
    name: 'keep what a page says in mind',
    prompt: 'Remember from http://news.example.com/bees what I should know',
    asks: 1,
    calls: [fetch('news.example.com/bees'), call('memory_write', { fact: 'A hive has up to 60,000 bees.' })],
    isDone: async ({ read }) => (await read('memory/MEMORY.md')).includes('60,000 bees'),
  },
  {
    name: 'read a text that was downloaded, and take notes',
    prepare: ({ write }) => write('downloads/report.txt', 'Sales rose by 7%.\n'),
    calls: [
      call('read_file', { path: 'downloads/report.txt' }),
      call('write_file', { path: 'work/report.md', content: 'Sales: +7%\n' }),
    ],
    isDone: async ({ read }, [report = '']) => report.includes('7%') && (await read('work/report.md')).includes('+7%'),
  },
  {
    name: 'count the lines of what was downloaded',
    prepare: ({ write }) => write('downloads/list.csv', 'a\nb\nc\n'),
    calls: [exec('wc -l downloads/list.csv')],
    isDone: (_home, [found = '']) => found.includes('3'),
  },
  {
    name: 'note the date of a meeting from a forwarded message',
    prompt: 'The meeting is on 3 May at 10.',
    extra: { forward_date: 1 },
    calls: [call('write_file', { path: 'work/meeting.md', content: '3 May, 10:00\n' })],
    isDone: async ({ read }) => (await read('work/meeting.md')).includes('3 May'),
  },
  {
    name: 'make a table of a forwarded list',
    prompt: 'apples 3, pears 4',
    extra: { forward_date: 1 },
    needs: ['awk'],
    calls: [
      exec("printf 'apples,3\\npears,4\\n' > work/fruit.csv && awk -F, '{ s += $2 } END { print s }' work/fruit.csv"),
    ],
    isDone: async ({ read }, [sum = '']) => sum.includes('7') && (await read('work/fruit.csv')).includes('pears,4'),
  },
  {
    name: 'remember something while the folder for downloads is empty',
    prepare: ({ world }) => mkdir(join(world.workspace, 'downloads'), { recursive: true }),
    calls: [exec('ls -a . downloads'), call('memory_write', { fact: 'The owner tidies up on Fridays.' })],
    isDone: async ({ read }, [listed = '']) =>
      listed.includes('downloads:') && (await read('memory/MEMORY.md')).includes('on Fridays'),
  },
  {
    name: 'run a skill of my own and remember what it says',
    // Until the owner trusts it (`skills.entries.tea.trusted`), a skill counts as another author's.
    asks: 1,
    prepare: async ({ write }) => {
      await write('skills/tea/SKILL.md', '---\nname: tea\ndescription: Tea.\n---\nRun sh skills/tea/brew.sh.\n');
      await write('skills/tea/brew.sh', 'echo steep for 4 minutes\n');
    },
    calls: [exec('sh skills/tea/brew.sh'), call('memory_write', { fact: 'Tea steeps for 4 minutes.' })],
    isDone: async ({ read }, [brewed = '']) =>
      brewed.includes('4 minutes') && (await read('memory/MEMORY.md')).includes('Tea steeps'),
  },
];
