import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { builtProgram } from '../support/built-program.ts';
import { tempFolder } from '../support/temp.ts';

const program = await builtProgram();

interface Said {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

/** `assistant chat -m` as a process of its own, answered by the demo. */
function chat(home: string, argv: readonly string[], input = ''): Promise<Said> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program.main, '--home', home, 'chat', ...argv], {
      env: program.environment(),
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    child.stdin.end(input);
    const parts = { out: '', err: '' };
    child.stdout.on('data', (chunk) => (parts.out += String(chunk)));
    child.stderr.on('data', (chunk) => (parts.err += String(chunk)));
    child.on('error', reject);
    child.on('close', (code) => resolve({ code, ...parts }));
  });
}

describe('a first conversation with the demo in a new home', () => {
  test('answers what README asks, and every sentence that it suggests works, in that order', async () => {
    await using folder = await tempFolder();
    const home = join(folder.path, 'home');
    const first = await chat(home, ['-m', 'What is in my workspace?']);
    expect(first).toMatchObject({ code: 0, err: expect.not.stringContaining('✗') });
    expect(first.out).toContain('AGENTS.md');
    const help = await chat(home, [], 'help\n');
    const sentences = [
      ...(help.out
        .split('I understand')[1]
        ?.split('To talk to')[0]
        ?.matchAll(/"([^"]+)"/gu) ?? []),
    ]
      .map(([, sentence = '']) => sentence)
      .filter((sentence) => sentence !== 'help' && !sentence.startsWith('run '));
    expect(sentences).toContain('read AGENTS.md');
    expect(sentences.length).toBeGreaterThanOrEqual(5);
    const all = await chat(home, [], sentences.join('\n'));
    expect(all.code).toBe(0);
    expect(all.out).not.toContain('did not work');
    expect(all.out.match(/^Done: .+\.$/gmu)).toHaveLength(sentences.length);
  }, 180_000);

  test('says in the guard’s own words why a command was refused, and ends with exit code 1', async () => {
    await using folder = await tempFolder();
    const { code, out, err } = await chat(join(folder.path, 'home'), ['-m', 'run rm -rf /']);
    expect(code).toBe(1);
    expect(out).toMatch(/exec did not work: Refused: .*would delete the root of the system/u);
    expect(out).not.toContain('· error]');
    expect(err).toMatch(/^✗ exec rm -rf \/: Refused: .*would delete/mu);
  });

  test('says why what was not there could not be read', async () => {
    await using folder = await tempFolder();
    const { code, out } = await chat(join(folder.path, 'home'), ['-m', 'read NOWHERE.md']);
    expect(code).toBe(0);
    expect(out).toMatch(/read_file did not work: .*NOWHERE\.md/u);
  });
});
