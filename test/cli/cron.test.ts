import { describe, expect, test } from 'vitest';
import type { RequestParams } from '../../src/core/gateway/operations/operations.ts';
import type { CronAnswer } from '../../src/extensions/cron/operation.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { CommandLine } from './command-line.ts';

const JOB = {
  id: 'tick',
  kind: 'message',
  text: 'Tick\u001B[31m',
  schedule: 'every 10s',
  when: 'every 10s',
  chat: 'telegram:42',
  session: 'own',
  state: 'waiting',
  by: null,
  next: [],
  code: '0123456789abcdef',
} as const;

/** A command line whose assistant has found one job in the file. */
function scheduled(): { readonly line: CommandLine; readonly asked: RequestParams<'cron'>[] } {
  const line = new CommandLine();
  const asked: RequestParams<'cron'>[] = [];
  line.assistant.answers = {
    cron: async (params): Promise<CronAnswer> => {
      asked.push(params);
      if (params.id === 'none') throw new AppError('cron-unknown', 'There is no job "none".');
      return { text: `- \`tick\` ${params.action}`, jobs: [JOB], runs: [] };
    },
  };
  return { line, asked };
}

describe('cron', () => {
  test('lists what is scheduled, as text and as JSON', async () => {
    const { line } = scheduled();
    expect(await line.run('cron')).toBe(0);
    expect(line.out).toBe('tick list\n');
    const other = scheduled().line;
    await other.run('cron', 'list', '--json');
    expect(JSON.parse(other.out)).toEqual({ jobs: [JOB], runs: [] });
  });

  test.each([
    ['failed', 1, '', /^The job tick failed\. No credit left\. Run it again: .*cron run tick\./u],
    ['stopped', 1, '', /^The job tick was stopped\. Why: .*why t\./u],
    ['ok', 0, 'tick run\nIt is done.\n', /^$/u],
    ['silent', 0, 'tick run\nIt is done and had nothing to report.\n', /^$/u],
  ] as const)('run waits for a run that ends %s, and fails with it', async (execution, code, out, err) => {
    const { line } = scheduled();
    let looks = 0;
    const reason = execution === 'failed' ? 'No credit left.' : null;
    const due = '2026-01-01T00:00:00Z';
    line.assistant.answers = {
      cron: async ({ action }): Promise<CronAnswer> => {
        if (action === 'show') looks += 1;
        const state: CronAnswer['runs'][number]['execution'] =
          looks < 2 ? 'waiting' : looks < 3 ? 'running' : execution;
        const run = {
          due,
          lastDue: due,
          count: 1,
          execution: state,
          delivery: 'none' as const,
          reason,
          lateMs: 0,
          turnId: 't',
        };
        return { text: `- \`tick\` ${action}`, jobs: [JOB], runs: action === 'show' ? [run] : [] };
      },
    };
    expect(await line.run('cron', 'run', 'tick')).toBe(code);
    if (code === 0) expect(line.out).toBe(out);
    expect(line.err).toMatch(err);
    expect(looks).toBe(3);
  });

  test('adds', async () => {
    const { line, asked } = scheduled();
    const options = ['--kind', 'agent', '--zone', 'Europe/Vienna', '--chat', 'telegram:7', '--session', 'main'];
    expect(await line.run('cron', 'add', 'every 2h', 'look at the news', ...options)).toBe(0);
    const job = { when: 'every 2h', text: 'look at the news', kind: 'agent' };
    expect(asked).toEqual([
      { action: 'add', job: { ...job, zone: 'Europe/Vienna', chat: 'telegram:7', session: 'main' } },
    ]);
  });

  test.each(['show', 'remove', 'disable'])('%s names one', async (action) => {
    const { line, asked } = scheduled();
    expect(await line.run('cron', action, 'tick')).toBe(0);
    expect(asked).toEqual([{ action, id: 'tick' }]);
    expect(await line.run('cron', action, 'none')).toBe(1);
    expect(line.err).toContain('There is no job "none".');
  });

  test('a job that was found in the file is shown and asked about, and just what was shown is agreed to', async () => {
    const { line, asked } = scheduled();
    expect(await line.run('cron', 'enable', 'tick', '--yes')).toBe(0);
    expect(asked.at(-1)).toEqual({ action: 'enable', id: 'tick', code: JOB.code });
    expect(line.err).toContain('tick: message, every 10s, to telegram:42\nTick\\u{1b}[31m\n');
    const silent = scheduled();
    expect(await silent.line.run('cron', 'enable', 'tick')).toBe(1);
    expect(silent.asked).toEqual([{ action: 'list' }]);
  });
});
