import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { Editor } from '../../../src/extensions/terminal/editor.ts';
import { inputRows } from '../../../src/extensions/terminal/input-rows.ts';

/** An editor with this text, its cursor at `|`. */
function at(marked: string): Editor {
  const editor = new Editor();
  const [before = '', after = ''] = marked.split('|');
  editor.insert(before + after);
  for (const _ of after.matchAll(/\P{M}\p{M}*/gu)) editor.left();
  return editor;
}

function marked(editor: Editor): string {
  return `${editor.shown.slice(0, editor.shownCursor)}|${editor.shown.slice(editor.shownCursor)}`;
}

test.each<[string, string, (editor: Editor) => void, string]>([
  ['backspace takes a whole character', 'a👩‍👩‍👧|', (e) => e.backspace(), 'a|'],
  ['left moves over a whole character', 'aé|', (e) => e.left(), 'a|é'],
  ['delete takes the next', 'a|bc', (e) => e.delete(), 'a|c'],
  ['a word to the left', 'one two|', (e) => e.wordLeft(), 'one |two'],
  ['a word to the right', '|one two', (e) => e.wordRight(), 'one| two'],
  ['home is the start of the line', 'one\ntwo|', (e) => e.home(), 'one\n|two'],
  ['home on the first line', 'one|', (e) => e.home(), '|one'],
  ['end is the end of the line', '|one\ntwo', (e) => e.end(), 'one|\ntwo'],
  ['up keeps the column', 'one\ntwo|', (e) => e.up(), 'one|\ntwo'],
  ['up to a shorter line', 'a\ntwo|', (e) => e.up(), 'a|\ntwo'],
  ['up to an empty line', '\ntwo|', (e) => e.up(), '|\ntwo'],
  ['down keeps the column', 'o|ne\ntwo', (e) => e.down(), 'one\nt|wo'],
  ['down on the last line stays', 'one|', (e) => e.down(), 'one|'],
  ['cutting to the end of the line', 'a|bc\nd', (e) => e.cutToEnd(), 'a|\nd'],
  ['cutting at the end of a line joins the next', 'a|\nd', (e) => e.cutToEnd(), 'a|d'],
  ['cutting to the start', 'x\nab|c', (e) => e.cutToStart(), 'x\n|c'],
  ['cutting a word to the left', 'one two |', (e) => e.cutWordLeft(), 'one |'],
])('%s', (_, before, act, after) => {
  const editor = at(before);
  act(editor);
  expect(marked(editor)).toBe(after);
});

test('what was cut comes back with yank, and what was done is undone', () => {
  const editor = at('one two|');
  editor.cutWordLeft();
  editor.home();
  editor.yank();
  expect(marked(editor)).toBe('two|one ');
  for (const _ of [1, 2]) editor.undo();
  expect(editor.shown).toBe('one two');
});

test('a long pasted text is one sign: it is deleted at once and sent in full', () => {
  const editor = at('a |b');
  const long = 'x\n'.repeat(9);
  editor.paste(long);
  expect(marked(editor)).toBe('a [9 lines]|b');
  expect(editor.text).toBe(`a ${long.trimEnd()}b`);
  editor.paste('y'.repeat(2_000));
  expect(editor.shown).toBe('a [9 lines][2000 characters]b');
  for (const _ of [1, 2]) editor.backspace();
  expect(marked(editor)).toBe('a |b');
  expect(editor.take()).toBe('a b');
  expect(editor.isEmpty).toBe(true);
});

test('what is typed or pasted cannot draw, nor stand for another pasted text', () => {
  const editor = new Editor();
  editor.paste('a\u001B[2Jb\u0007\u{F0000}c\r\nd');
  expect(editor.text).toBe('a[2Jbc\nd');
});

test('whatever is done, the cursor is between two characters and every row fits', () => {
  const actions: readonly ((editor: Editor) => void)[] = [
    (e) => e.left(),
    (e) => e.right(),
    (e) => e.up(),
    (e) => e.down(),
    (e) => e.home(),
    (e) => e.end(),
    (e) => e.backspace(),
    (e) => e.delete(),
    (e) => e.wordLeft(),
    (e) => e.wordRight(),
    (e) => e.cutToEnd(),
    (e) => e.cutWordLeft(),
    (e) => e.yank(),
    (e) => e.undo(),
    (e) => e.insert('世👍🏽e\u0301'),
    (e) => e.insert('\n'),
    (e) => e.insert('word '),
    (e) => e.paste('p\n'.repeat(8)),
  ];
  fc.assert(
    fc.property(
      fc.array(fc.nat(actions.length - 1), { maxLength: 60 }),
      fc.integer({ min: 8, max: 40 }),
      (steps, width) => {
        const editor = new Editor();
        for (const step of steps) actions[step]?.(editor);
        const { shown, shownCursor } = editor;
        expect(shown.isWellFormed() && shown.slice(0, shownCursor).isWellFormed()).toBe(true);
        const input = inputRows({ prompt: '› ', text: shown, cursor: shownCursor }, { width, most: 5 });
        expect(input.rows.length).toBeLessThanOrEqual(5);
        expect(input.cursor.row).toBeLessThan(input.rows.length);
        expect(input.cursor.column).toBeLessThan(width);
      },
    ),
    { numRuns: 200 },
  );
});
