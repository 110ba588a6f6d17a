import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { behaviour, type Behaviour } from './behaviour.ts';
import type { Stage } from './stage.ts';

const MARKDOWN =
  '# Plan\n\nIt is **bold** and _leaning_, `code` too.\n\n- one\n- two\n\n[a page](https://example.com/p)';

const inWorkspace = async (stage: Stage, name: string, bytes: Uint8Array): Promise<string> => {
  await writeFile(join(stage.home, 'workspace', name), bytes);
  return name;
};

export const outboundBehaviours: readonly Behaviour[] = [
  behaviour('is Markdown in the platform’s own markup', ['markup'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted(MARKDOWN);
    const { text, raw } = await chat.asks('show me');
    expect(text).toContain('It is bold and leaning, code too.');
    expect(text).toContain('a page');
    expect(text).not.toContain('**');
    expect(raw).toContain('https://example.com/p');
    expect(raw).not.toBe(text);
  }),

  behaviour('shows signs that mean something to the platform as they are', [], async (stage) => {
    const chat = await stage.chat();
    const plain = 'if a < b && c > d: say "hi" & go';
    chat.scripted(plain);
    expect((await chat.asks('show me')).text).toBe(plain);
  }),

  behaviour('goes out plain when the platform refuses the markup', ['refused markup', 'network'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted('It is **bold**.');
    chat.bot.fault(chat.place, 'markup-refused');
    const { text } = await chat.asks('show me');
    expect(text).toBe('It is bold.');
    await stage.settled();
    expect(chat.seen).toHaveLength(1);
  }),

  behaviour('is split where a message may not be longer, and loses nothing', ['limit'], async (stage) => {
    const chat = await stage.chat();
    const sentences = Array.from({ length: 400 }, (_, n) => `This is sentence number ${n} of a long answer.`);
    chat.scripted(sentences.join(' '));
    chat.sends('tell me all');
    await chat.sees((texts) => texts.join(' ').includes('number 399'), 'the last sentence');
    expect(chat.seen.length).toBeGreaterThan(1);
    expect(chat.texts.join(' ').match(/number \d+ of/gu)).toEqual(sentences.map((_, n) => `number ${n} of`));
  }),

  behaviour('is split without breaking a block of code', ['limit', 'markup'], async (stage) => {
    const chat = await stage.chat();
    const lines = Array.from({ length: 500 }, (_, n) => `const value${n} = ${n};`);
    chat.scripted(`Look:\n\n\`\`\`ts\n${lines.join('\n')}\n\`\`\`\n\nThat is all.`);
    chat.sends('show me the code');
    await chat.sees((texts) => texts.join('\n').includes('That is all.'), 'the end');
    expect(chat.texts.join('\n').match(/const value\d+ = \d+;/gu)).toEqual(lines);
  }),

  behaviour('is split between letters, never within one', ['limit'], async (stage) => {
    const chat = await stage.chat();
    chat.scripted('👩‍👩‍👧'.repeat(700));
    chat.sends('families');
    await chat.sees((texts) => texts.join('').length >= 700 * 8, 'all of them');
    for (const text of chat.texts) expect(text.isWellFormed()).toBe(true);
    expect(chat.texts.join('').replaceAll(/\s/gu, '')).toBe('👩‍👩‍👧'.repeat(700));
  }),

  behaviour('is one message before the answer where the model says something meanwhile', [], async (stage) => {
    const chat = await stage.chat();
    chat.scripted({ calls: [{ name: 'message', arguments: { text: 'A moment.' } }] }, 'Done.');
    chat.sends('do it');
    await chat.sees((texts) => texts.length === 2, 'both messages');
    expect(chat.texts).toEqual(['A moment.', 'Done.']);
  }),

  behaviour('holds files: pictures as pictures, others as they are', ['files'], async (stage) => {
    const chat = await stage.chat('owner');
    const page = Buffer.from('<h1>Page</h1>');
    const dot = Buffer.from(
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      'base64',
    );
    const media = [await inWorkspace(stage, 'page.html', page), await inWorkspace(stage, 'dot.png', dot)];
    chat.scripted({ calls: [{ name: 'message', arguments: { text: 'Here.', media } }] }, 'Sent.');
    chat.sends('send both');
    await chat.sees((texts) => texts.includes('Sent.'), 'the end of the turn');
    const files = chat.seen.flatMap(({ file }) => (file === undefined ? [] : [file]));
    expect(files.map(({ name }) => name)).toEqual(['page.html', 'dot.png']);
    expect(files.map(({ bytes }) => Buffer.from(bytes))).toEqual([page, dot]);
  }),

  behaviour('says in one sentence what went wrong when the model fails', [], async (stage) => {
    const chat = await stage.chat();
    chat.scripted({ error: { status: 401, message: 'Incorrect API key provided.' } });
    const { text } = await chat.asks('hello');
    expect(text).not.toMatch(/\n\s+at /u);
    expect(text.length).toBeLessThan(400);
    await stage.settled();
    expect(chat.seen).toHaveLength(1);
  }),
];
