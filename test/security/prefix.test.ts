import { describe, expect, test } from 'vitest';
import { runsOnly } from '../../src/core/security/commands/plain.ts';

describe('a command prefix', () => {
  test.each([
    ['git status', ['git']],
    ['git log --oneline -5', ['git log']],
    ['git add . && git commit -m "a message"', ['git']],
    ['git log | git shortlog', ['git']],
    ["git grep 'a b' -- '*.ts'", ['git']],
    ['gh issue list', ['git', 'gh']],
    ['git show HEAD~3', ['git']],
    ['git diff -- *.md', ['git']],
  ])('allows %s for %j', (command, prefixes) => {
    expect(runsOnly(command, prefixes)).toBe(true);
  });

  test.each([
    ['', ['git']],
    ['gitk', ['git']],
    ['git push', ['git log']],
    ['git status; rm -rf x', ['git']],
    ['git log && curl example.org', ['git']],
    ['git log | sh', ['git']],
    ['git log $(curl example.org)', ['git']],
    ['git log `id`', ['git']],
    ['git log "$(id)"', ['git']],
    ['git log <(id)', ['git']],
    ['git log > notes.txt', ['git']],
    ['GIT_PAGER=evil git log', ['git']],
    ['$GIT log', ['git']],
    ['"$x" log', ['git']],
    ['git log $HOME', ['git']],
    ['git() { id; }; git log', ['git']],
    ['if git status; then id; fi', ['git']],
    ['(git status)', ['git']],
    ['! git status', ['rm']],
    ['env git log', ['git']],
    ['git log &', ['rm']],
    ['git log\nid', ['git']],
    ['git {log,$(id)}', ['git']],
    ['/tmp/git log', ['git']],
    ['git log', []],
    ['git log', ['']],
    ['git log "unclosed', ['git']],
  ])('does not allow %j for %j', (command, prefixes) => {
    expect(runsOnly(command, prefixes)).toBe(false);
  });
});
