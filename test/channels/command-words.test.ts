import { describe, expect, test } from 'vitest';
import { COMMAND_NAMES, withCommandPrefix } from '../../src/core/bus/commands.ts';
import { startWorld } from '../support/world.ts';

const slack = (text: string): string => withCommandPrefix(text, '/assistant ');

describe('a command in the program’s own words', () => {
  test('stands as the platform takes it, in prose, in code and at the beginning of a line', () => {
    expect(slack('Send /retry, or choose another with /model.')).toBe(
      'Send /assistant retry, or choose another with /assistant model.',
    );
    expect(slack('/new\n- `/cron show|remove ID` (/help)')).toBe(
      '/assistant new\n- `/assistant cron show|remove ID` (/assistant help)',
    );
    expect(withCommandPrefix('Send /retry.', '/')).toBe('Send /retry.');
  });

  test.each([
    '/new/folder',
    'a/new',
    '/new.txt',
    'https://x.example/help',
    '~/new',
    '/newer',
    '/no-command',
    '/new-name',
  ])('%s is none', (text) => {
    expect(slack(text)).toBe(text);
  });

  test('a block of code stays as it is', () => {
    const code = '```sh\nrm /new\n```';
    expect(slack(`${code}\n/deny X`)).toBe(`${code}\n/assistant deny X`);
  });

  test('is each of the commands that there are', async () => {
    await using world = await startWorld();
    const { text } = await world.assistant.run('/help all');
    const listed = Array.from(text.matchAll(/^- \/(?<name>[a-z]+):/gmu), ({ groups }) => groups?.['name']);
    expect(new Set(listed)).toEqual(new Set(COMMAND_NAMES));
  });
});
