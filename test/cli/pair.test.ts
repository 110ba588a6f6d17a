import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectAssistant, startControlServer } from '../../src/gateway/control.ts';
import { AppError } from '../../src/util/errors.ts';
import { systemClock } from '../../src/util/clock.ts';
import { silentLog } from '../../src/util/log.ts';
import { failureOf, temporaryFolder } from '../config/temporary-home.ts';
import { CommandLine } from './command-line.ts';

const AT = Date.UTC(2026, 10, 21, 5, 10);
const BEN = { channel: 'telegram', id: '77', name: 'Ben\u001B[31m\u202E', addedAt: AT, addedBy: 'telegram:42' };
const EVE = { channel: 'work', id: '88', name: null, code: 'ABCD2345', expiresAt: AT + 600_000 };

/** A command line whose assistant knows Ben, and has given Eve a code. */
function paired(facts: { readonly empty?: boolean } = {}): CommandLine {
  const line = new CommandLine();
  const people = facts.empty === true ? [] : [BEN];
  const pending = facts.empty === true ? [] : [EVE];
  line.assistant.answers = {
    pairList: async () => ({ people, pending, lockedUntil: facts.empty === true ? null : AT }),
    pairApprove: async ({ code }) => {
      if (code !== EVE.code) throw new AppError('pairing-code', 'No code like that waits for approval.');
      return { channel: EVE.channel, id: EVE.id, name: null, addedAt: AT, addedBy: 'terminal' };
    },
    pairRemove: async ({ person }) => {
      if (person !== 'telegram:77') throw new AppError('pairing-person', `${person} was not let in by a code.`);
      return BEN;
    },
  };
  return line;
}

describe('pair', () => {
  test('lists who was let in and who waits; what they call themselves can not play with the terminal', async () => {
    for (const argv of [['pair'], ['pair', 'list']]) {
      const line = paired();
      expect(await line.run(...argv)).toBe(0);
      expect(line.out).toBe(
        [
          'telegram:77 (Ben\\u{1b}[31m\\u{202e})  since 2026-11-21 05:10 UTC, by telegram:42\n',
          'work:88  waits with the code ABCD2345, until 2026-11-21 05:20 UTC\n',
          'Too many codes were wrong: none is taken until 2026-11-21 05:10 UTC.\n',
        ].join(''),
      );
      expect(line.assistant.disposed).toBe(1);
    }
    const nobody = paired({ empty: true });
    await nobody.run('pair');
    expect(nobody.out).toBe('Nobody was let in by a code, and nobody waits.\n');
  });

  test('lets somebody in and shuts somebody out', async () => {
    const line = paired();
    expect(await line.run('pair', 'approve', 'ABCD2345')).toBe(0);
    expect(await line.run('pair', 'remove', 'telegram:77')).toBe(0);
    expect(line.out).toBe(
      'work:88 may write to it now.\ntelegram:77 (Ben\\u{1b}[31m\\u{202e}) may not write to it any more.\n',
    );
  });

  test('says everything as JSON', async () => {
    const json = async (...argv: readonly string[]): Promise<unknown> => {
      const line = paired();
      await line.run('pair', ...argv, '--json');
      return JSON.parse(line.out);
    };
    expect(await json()).toEqual({ people: [BEN], pending: [EVE], lockedUntil: AT });
    expect(await json('approve', 'ABCD2345')).toMatchObject({ approved: { id: '88' } });
    expect(await json('remove', 'telegram:77')).toMatchObject({ removed: { id: '77' } });
  });

  test.each([
    [['pair', 'approve'], 2, "Missing required argument 'code'. See assistant --help.\n"],
    [['pair', 'remove'], 2, "Missing required argument 'person'. See assistant --help.\n"],
    [['pair', 'approve', 'WRONGWRO'], 1, 'No code like that waits for approval.\n'],
    [['pair', 'remove', 'telegram:1'], 1, 'telegram:1 was not let in by a code.\n'],
  ])('says what is wrong with %j', async (argv, code, sentence) => {
    const line = paired();
    expect(await line.run(...argv)).toBe(code);
    expect(line.err).toBe(sentence);
  });

  test('is asked of the gateway that runs, through its control socket', async () => {
    const line = paired();
    line.running = true;
    expect(await line.run('pair')).toBe(0);
    expect(line.started).toEqual([]);

    const path = join(temporaryFolder(), 'control.sock');
    const server = await startControlServer({ path, version: '1', assistant: line.assistant, log: silentLog });
    onTestFinished(() => server[Symbol.asyncDispose]());
    const remote = await connectAssistant(path, systemClock);
    if (remote === undefined) throw new Error('nobody listens');
    onTestFinished(() => remote[Symbol.asyncDispose]());
    expect(await remote.request('pairList', {})).toEqual({ people: [BEN], pending: [EVE], lockedUntil: AT });
    expect(await remote.request('pairApprove', { code: 'ABCD2345' })).toMatchObject({ id: '88' });
    expect(await remote.request('pairRemove', { person: 'telegram:77' })).toEqual(BEN);
    expect(await failureOf(remote.request('pairApprove', { code: 'x' }))).toMatchObject({ code: 'pairing-code' });
  });
});
