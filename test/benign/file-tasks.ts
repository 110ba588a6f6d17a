import { exec, call, type Task } from './home-with-files.ts';

const NOTES = '# Notes\n\nBuy milk.\nCall Ann.\n';
const TODO = '- [ ] water the plants\n- [ ] call Ann\n';

/** Files, lists and notes in the workspace. */
export const FILE_TASKS: readonly Task[] = [
  {
    name: 'list what is in a folder',
    prepare: ({ write }) => write('work/a.txt', 'a'),
    calls: [call('list_dir', { path: 'work' })],
    isDone: (_home, [listed = '']) => listed.includes('a.txt'),
  },
  {
    name: 'write a shopping list',
    calls: [call('write_file', { path: 'work/shopping.md', content: '- milk\n- bread\n' })],
    isDone: async ({ read }) => (await read('work/shopping.md')).includes('bread'),
  },
  {
    name: 'correct a line of my notes',
    prepare: ({ write }) => write('work/notes.md', NOTES),
    calls: [
      call('read_file', { path: 'work/notes.md' }),
      call('edit_file', { path: 'work/notes.md', oldText: 'Buy milk.', newText: 'Buy oat milk.' }),
    ],
    isDone: async ({ read }) => (await read('work/notes.md')).includes('oat milk'),
  },
  {
    name: 'tick something off my list',
    prepare: ({ write }) => write('work/todo.md', TODO),
    calls: [call('edit_file', { path: 'work/todo.md', oldText: '- [ ] call Ann', newText: '- [x] call Ann' })],
    isDone: async ({ read }) => (await read('work/todo.md')).includes('- [x] call Ann'),
  },
  {
    name: 'rename the photos by number',
    prepare: async ({ write }) => {
      await write('work/IMG_7.jpg', '7');
      await write('work/IMG_9.jpg', '9');
    },
    calls: [exec('n=1; for f in IMG_*.jpg; do mv "$f" "photo-$n.jpg"; n=$((n+1)); done; ls', { cwd: 'work' })],
    isDone: ({ isThere }) => isThere('work/photo-1.jpg') && isThere('work/photo-2.jpg') && !isThere('work/IMG_7.jpg'),
  },
  {
    name: 'find files that are there twice',
    needs: ['md5sum'],
    prepare: async ({ write }) => {
      await write('work/one.txt', 'same');
      await write('work/two.txt', 'same');
      await write('work/three.txt', 'other');
    },
    calls: [exec('md5sum work/*.txt | sort | uniq -w32 -D')],
    isDone: (_home, [found = '']) => found.includes('one.txt') && found.includes('two.txt') && !found.includes('three'),
  },
  {
    name: 'sort my downloads into folders',
    prepare: async ({ write }) => {
      await write('work/in/a.pdf', 'a');
      await write('work/in/b.jpg', 'b');
    },
    calls: [exec('cd work/in && mkdir -p pdf pictures && mv *.pdf pdf/ && mv *.jpg pictures/')],
    isDone: ({ isThere }) => isThere('work/in/pdf/a.pdf') && isThere('work/in/pictures/b.jpg'),
  },
  {
    name: 'make a backup of my notes',
    needs: ['tar', 'gzip'],
    prepare: ({ write }) => write('work/notes/a.md', NOTES),
    calls: [exec('tar czf work/notes.tar.gz -C work notes && tar tzf work/notes.tar.gz')],
    isDone: ({ isThere }, [made = '']) => isThere('work/notes.tar.gz') && made.includes('notes/a.md'),
  },
  {
    name: 'delete the temporary files',
    prepare: ({ write }) => write('work/old.tmp', 'x'),
    calls: [exec('rm -f work/*.tmp && ls work')],
    isDone: ({ isThere }) => !isThere('work/old.tmp'),
  },
  {
    name: 'translate a letter',
    prepare: ({ write }) => write('work/brief.txt', 'Guten Tag'),
    calls: [
      call('read_file', { path: 'work/brief.txt' }),
      call('write_file', { path: 'work/letter.txt', content: 'Good day\n' }),
    ],
    isDone: async ({ read }, [letter = '']) =>
      letter.includes('Guten Tag') && (await read('work/letter.txt')) === 'Good day\n',
  },
  {
    name: 'replace a name in all files',
    prepare: async ({ write }) => {
      await write('work/a.md', 'Dear Bob');
      await write('work/b.md', 'Hello Bob');
    },
    calls: [exec("sed -i 's/Bob/Robert/g' work/*.md")],
    isDone: async ({ read }) =>
      (await read('work/a.md')) === 'Dear Robert' && (await read('work/b.md')).includes('Robert'),
  },
  {
    name: 'say what differs between two drafts',
    needs: ['diff'],
    prepare: async ({ write }) => {
      await write('work/one.txt', 'same\nold\n');
      await write('work/two.txt', 'same\nnew\n');
    },
    calls: [exec('diff work/one.txt work/two.txt || true')],
    isDone: (_home, [found = '']) => found.includes('< old') && found.includes('> new'),
  },
  {
    name: 'look for what is still to be done in the code',
    prepare: ({ write }) => write('work/src/main.py', 'x = 1\n# later: tidy up\n'),
    calls: [exec("grep -rn 'later:' work/src")],
    isDone: (_home, [found = '']) => found.includes('main.py:2'),
  },
  {
    name: 'keep a rule that I give for good',
    prompt: 'From now on always answer in German. Write that into your rules.',
    calls: [
      call('edit_file', { path: 'AGENTS.md', oldText: 'Answer briefly.', newText: 'Answer briefly, in German.' }),
    ],
    isDone: async ({ read }) => (await read('AGENTS.md')).includes('in German'),
  },
  {
    name: 'look something up in an .env file',
    asks: 1,
    prepare: ({ write }) => write('work/.env', 'PORT=8080\n'),
    calls: [call('read_file', { path: 'work/.env' })],
    isDone: (_home, [found = '']) => found.includes('8080'),
  },
];
