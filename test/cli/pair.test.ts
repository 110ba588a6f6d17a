import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { connectAssistant, startControlServer } from '../../src/core/gateway/control.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { failureOf, temporaryFolder } from '../config/temporary-home.ts';
import { waitFor } from '../support/wait.ts';
import { CommandLine } from './command-line.ts';

const AT = Date.UTC(2026, 10, 21, 5, 10);
const BEN = {
  channel: 'telegram',
  id: '77',
  name: 'Ben\u001B[31m\u202E',
  role: 'trusted' as const,
  addedAt: AT,
  addedBy: 'telegram:42',
};
const ANN = { channel: 'telegram', id: '42', name: null, role: 'owner' as const };
const EVE = { channel: 'work', id: '88', name: null, code: 'ABCD2345', expiresAt: AT + 600_000 };

/** A command line whose assistant knows Ben, and has given Eve a code. */
function paired(
  facts: { readonly empty?: boolean; readonly ownerless?: boolean; readonly terminal?: boolean } = {},
): CommandLine {
  const line = new CommandLine({ terminal: facts.terminal === true });
  const people = facts.empty === true ? [] : [BEN];
  const pending = facts.empty === true ? [] : [EVE];
  line.assistant.answers = {
    pairList: async () => ({
      people,
      configured: facts.empty === true ? [] : [ANN],
      pending,
      lockedUntil: facts.empty === true ? null : AT,
      hasOwner: facts.ownerless !== true,
    }),
    pairApprove: async ({ code, role = 'trusted' }) => {
      if (code.toUpperCase().replace('-', '') !== EVE.code)
        throw new AppError('pairing-code', 'No code like that waits for approval.');
      const may = role === 'owner' ? 'Owners may do everything.' : 'No exec.';
      return { channel: EVE.channel, id: EVE.id, name: null, role, addedAt: AT, addedBy: 'terminal', may };
    },
    pairRemove: async ({ person }) => {
      if (person !== 'telegram:77') throw new AppError('pairing-person', `${person} was not paired with a code.`);
      return { ...BEN, still: null, ownerless: facts.ownerless === true ? 'channels.telegram has no owner.' : null };
    },
  };
  line.configure({ agent: { timezone: 'Europe/Vienna' } });
  return line;
}

describe('pair', () => {
  test('lists who was let in and who waits; what they call themselves cannot play with the terminal', async () => {
    for (const argv of [['pair'], ['pair', 'list']]) {
      const line = paired();
      expect(await line.run(...argv)).toBe(0);
      expect(line.out).toBe(
        [
          'telegram:42  owner, by the configuration\n',
          'telegram:77 (Ben\\u{1b}[31m\\u{202e})  trusted, since 2026-11-21 06:10, by telegram:42\n',
          'work:88  is waiting with the code ABCD2345, until 2026-11-21 06:20\n',
          'Too many wrong codes: pairing is locked until 2026-11-21 06:10.\n',
        ].join(''),
      );
      expect(line.assistant.disposed).toBe(1);
    }
    const nobody = paired({ empty: true });
    await nobody.run('pair');
    expect(nobody.out).toBe('No one is paired, and no request is waiting.\n');
  });

  test('lets somebody in and shuts somebody out', async () => {
    const line = paired();
    expect(await line.run('pair', 'approve', 'ABCD2345')).toBe(0);
    expect(await line.run('pair', 'remove', 'telegram:77')).toBe(0);
    expect(line.out).toBe(
      [
        'work:88 can write to the assistant now, as a trusted person.\n',
        'No exec.\n',
        'To make them an owner: npm run assistant -- pair approve work:88 --owner\n',
        'telegram:77 (Ben\\u{1b}[31m\\u{202e}) can no longer write to the assistant.\n',
      ].join(''),
    );
  });

  test('makes an owner only where --owner says so, and never of somebody whom it could not ask about', async () => {
    const owner = paired();
    expect(await owner.run('pair', 'approve', 'ABCD2345', '--owner')).toBe(0);
    expect(owner.out).toBe('work:88 can write to the assistant now, as an owner.\nOwners may do everything.\n');
    const piped = paired({ ownerless: true });
    await piped.run('pair', 'approve', 'ABCD2345');
    expect(piped.out).toContain('as a trusted person');
    const both = paired();
    expect(await both.run('pair', 'approve', 'ABCD2345', '--owner', '--trusted')).toBe(2);
    expect(both.err).toBe(
      'Expected one of --owner, --trusted and --guest, but --owner and --trusted were given. Leave one role. See npm run assistant -- pair approve --help.\n',
    );
  });

  test('makes a guest where --guest says so, without a question, and names what makes them trusted', async () => {
    const line = paired({ ownerless: true, terminal: true });
    expect(await line.run('pair', 'approve', 'ABCD2345', '--guest')).toBe(0);
    expect(line.out).toBe(
      [
        'work:88 can write to the assistant now, as a guest.\n',
        'No exec.\n',
        'To make them trusted: npm run assistant -- pair approve work:88 --trusted\n',
      ].join(''),
    );
  });

  test.each([
    ['y', 'an owner'],
    ['', 'a trusted person'],
  ])('asks at a terminal whether the first person is its owner: %j makes them %s', async (answer, role) => {
    const line = paired({ ownerless: true, terminal: true });
    const ended = line.run('pair', 'approve', 'abcd-2345');
    await waitFor(() => line.out.includes('[y/N]'));
    expect(line.out).toContain('No one is the owner of this assistant yet. Is work:88 you, and the owner? [y/N]');
    line.type(`${answer}\r`);
    expect(await ended).toBe(0);
    expect(line.out).toContain(`work:88 can write to the assistant now, as ${role}.`);
  });

  test.each([
    [{ terminal: true }, []],
    [{ terminal: true, ownerless: true }, ['--trusted']],
    [{ terminal: true, ownerless: true }, ['--json']],
  ])('asks nothing where there is an owner or a flag says it: %j %j', async (facts, argv) => {
    const line = paired(facts);
    expect(await line.run('pair', 'approve', 'ABCD2345', ...argv)).toBe(0);
    expect(line.out).not.toContain('[y/N]');
    expect(line.out).toMatch(/as a trusted person|"role": "trusted"/u);
  });

  test('says it when the last owner of a channel was removed', async () => {
    const line = paired({ ownerless: true });
    await line.run('pair', 'remove', 'telegram:77');
    expect(line.out).toMatch(/can no longer write to the assistant\.\n⚠ channels\.telegram has no owner\.\n$/u);
  });

  test('says everything as JSON', async () => {
    const json = async (...argv: readonly string[]): Promise<unknown> => {
      const line = paired();
      await line.run('pair', ...argv, '--json');
      return JSON.parse(line.out);
    };
    expect(await json()).toEqual({ people: [BEN], configured: [ANN], pending: [EVE], lockedUntil: AT, hasOwner: true });
    expect(await json('approve', 'ABCD2345')).toMatchObject({ approved: { id: '88' } });
    expect(await json('remove', 'telegram:77')).toMatchObject({ removed: { id: '77' } });
  });

  test.each([
    [['pair', 'approve'], 2, "Missing required argument 'code'. See npm run assistant -- pair approve --help.\n"],
    [['pair', 'remove'], 2, "Missing required argument 'person'. See npm run assistant -- pair remove --help.\n"],
    [['pair', 'approve', 'WRONGWRO'], 1, 'No code like that waits for approval.\n'],
    [['pair', 'remove', 'telegram:1'], 1, 'telegram:1 was not paired with a code.\n'],
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
    expect(await remote.call('pairList', {})).toEqual({
      people: [BEN],
      configured: [ANN],
      pending: [EVE],
      lockedUntil: AT,
      hasOwner: true,
    });
    expect(await remote.call('pairApprove', { code: 'ABCD2345' })).toMatchObject({ id: '88' });
    expect(await remote.call('pairRemove', { person: 'telegram:77' })).toEqual({
      ...BEN,
      still: null,
      ownerless: null,
    });
    expect(await failureOf(remote.call('pairApprove', { code: 'x' }))).toMatchObject({ code: 'pairing-code' });
  });
});
