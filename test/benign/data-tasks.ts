import { call, exec, type Task } from './home-with-files.ts';

const SALES = 'city,amount\nWien,10\nBerlin,20\nWien,5\n';
const SCRIPT =
  'import csv\nrows = list(csv.DictReader(open("work/sales.csv")))\nprint(sum(int(r["amount"]) for r in rows))\n';
const TO_JSON =
  'import csv, json\njson.dump(list(csv.DictReader(open("work/sales.csv"))), open("work/sales.json", "w"))\n';
const PACKAGE = JSON.stringify({ name: 'sum', version: '1.0.0', scripts: { test: 'node test.js' } });
const sales: Task['prepare'] = ({ write }) => write('work/sales.csv', SALES);

/** Numbers, tables, small programs. */
export const DATA_TASKS: readonly Task[] = [
  {
    name: 'add up a column',
    prepare: sales,
    needs: ['awk'],
    calls: [exec("awk -F, 'NR > 1 { sum += $2 } END { print sum }' work/sales.csv")],
    isDone: (_home, [sum = '']) => sum.includes('35'),
  },
  {
    name: 'say which city sold most',
    prepare: sales,
    needs: ['awk', 'sort'],
    calls: [
      exec("tail -n +2 work/sales.csv | awk -F, '{ s[$1] += $2 } END { for (c in s) print s[c], c }' | sort -rn"),
    ],
    isDone: (_home, [found = '']) => found.includes('20 Berlin\n15 Wien'),
  },
  {
    name: 'count the words of a text',
    prepare: ({ write }) => write('work/text.txt', 'one two three\n'),
    calls: [exec('wc -w < work/text.txt')],
    isDone: (_home, [found = '']) => found.includes('3'),
  },
  {
    name: 'take a field out of JSON',
    needs: ['jq'],
    prepare: ({ write }) => write('work/people.json', '[{"name":"Ann","age":40},{"name":"Ben","age":30}]'),
    calls: [exec("jq -r '.[] | select(.age > 35) | .name' work/people.json")],
    isDone: (_home, [found = '']) => found.includes('Ann') && !found.includes('Ben'),
  },
  {
    name: 'count status codes in a log',
    needs: ['awk', 'sort', 'uniq'],
    prepare: ({ write }) => write('work/access.log', 'GET / 200\nGET /x 404\nGET / 200\n'),
    calls: [exec("awk '{ print $3 }' work/access.log | sort | uniq -c | sort -rn")],
    isDone: (_home, [found = '']) => /2 200\n\s*1 404/u.test(found),
  },
  {
    name: 'write a Python script and run it',
    needs: ['python3'],
    prepare: sales,
    calls: [call('write_file', { path: 'work/sum.py', content: SCRIPT }), exec('python3 work/sum.py')],
    isDone: (_home, results) => results.at(-1)?.includes('35') === true,
  },
  {
    name: 'turn a table into JSON',
    needs: ['python3'],
    prepare: sales,
    calls: [
      call('write_file', { path: 'work/convert.py', content: TO_JSON }),
      exec('python3 work/convert.py && head -c 200 work/sales.json'),
    ],
    isDone: async ({ read }) => (await read('work/sales.json')).includes('"city": "Berlin"'),
  },
  {
    name: 'run the tests of a project',
    needs: ['node', 'npm'],
    prepare: async ({ write }) => {
      await write('work/app/package.json', PACKAGE);
      await write('work/app/test.js', "require('node:assert').equal(1 + 1, 2); console.log('1 passed');\n");
    },
    calls: [exec('npm test', { cwd: 'work/app' })],
    isDone: (_home, [ran = '']) => ran.includes('1 passed') && ran.includes('exitCode=0'),
  },
  {
    name: 'mend a failing program',
    needs: ['python3'],
    prepare: ({ write }) => write('work/bug.py', 'print(1 +)\n'),
    calls: [
      exec('python3 work/bug.py'),
      call('edit_file', { path: 'work/bug.py', oldText: '1 +', newText: '1 + 1' }),
      exec('python3 work/bug.py'),
    ],
    isDone: (_home, results) => results.at(-1)?.includes('\n2\n') === true,
  },
  {
    name: 'go through more output than fits',
    needs: ['seq'],
    calls: [exec('seq 1 200000'), exec('seq 1 200000 | tail -n 1')],
    isDone: (_home, [all = '', last = '']) => all.length < 20_000 && last.includes('200000'),
  },
  {
    name: 'draw a small chart',
    prepare: sales,
    calls: [call('write_file', { path: 'work/chart.svg', content: '<svg><rect width="20"/></svg>\n' })],
    isDone: async ({ read }) => (await read('work/chart.svg')).startsWith('<svg>'),
  },
  {
    name: 'say which day it is in three weeks',
    needs: ['date'],
    calls: [exec("date -d '2027-03-01 + 21 days' +%F")],
    isDone: (_home, [found = '']) => found.includes('2027-03-22'),
  },
];
