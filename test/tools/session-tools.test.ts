import { expect, test } from 'vitest';
import { ToolRegistry } from '../../src/core/tools/registry/registry.ts';
import { call, tool } from '../support/simple-tools.ts';
import { testToolContext } from '../support/tool-context.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const OWN = 'acp:one';
const OTHER = 'acp:two';

function registry(deny: readonly string[] = []): ToolRegistry {
  return new ToolRegistry({
    policy: { allow: ['*'], deny, guest: [] },
    clock: new VirtualClock(),
    redact: (text) => text,
    maxOutput: 1_000,
  });
}

test('a tool of one session is shown and called there alone, behind all others, until it is taken away', async () => {
  const tools = registry();
  tools.register(tool('zebra'));
  const registration = tools.registerFor(OWN, tool('ant', { effect: 'effect' }));
  const names = (session?: string): readonly string[] => tools.specs('owner', session).map(({ name }) => name);
  expect(names(OWN)).toEqual(['zebra', 'ant']);
  expect(names(OTHER)).toEqual(['zebra']);
  expect(names()).toEqual(['zebra']);
  expect(tools.specs('owner', OWN)).toBe(tools.specs('owner', OWN));
  expect(tools.effectOf('ant', OWN)).toBe('effect');
  expect(tools.effectOf('ant', OTHER)).toBe('none');
  const at = async (sessionKey: string): Promise<boolean | undefined> =>
    (await tools.run(call('ant'), testToolContext({ sessionKey }))).isError;
  expect(await at(OWN)).toBeUndefined();
  expect(await at(OTHER)).toBe(true);
  registration[Symbol.dispose]();
  expect(names(OWN)).toEqual(['zebra']);
  expect(await at(OWN)).toBe(true);
});

test('a tool of one session takes no name that there is, and the policy counts for it', () => {
  const tools = registry(['no*']);
  tools.register(tool('exec'));
  expect(() => tools.registerFor(OWN, tool('exec'))).toThrow('There is a tool named exec already.');
  expect(() => tools.registerFor(OWN, tool('bash'))).toThrow('There is a tool named bash already.');
  tools.registerFor(OWN, tool('ant'));
  expect(() => tools.registerFor(OWN, tool('ant'))).toThrow('There is a tool named ant already.');
  tools.registerFor(OTHER, tool('ant'));
  tools.registerFor(OWN, tool('nothing'));
  expect(tools.specs('owner', OWN).map(({ name }) => name)).toEqual(['exec', 'ant']);
});
