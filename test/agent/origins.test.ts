import { expect, test } from 'vitest';
import { CommandTable } from '../../src/core/agent/commands/table.ts';
import { isOwnWork, ownWork } from '../../src/core/bus/origins.ts';
import { ORIGINS } from '../support/extensions.ts';
import { inboundMessage } from '../support/inbound.ts';

const GONE = 'of-an-extension-that-is-gone';

test('an origin of an extension that is gone has no flags, and counts as work that no person waits for', () => {
  expect(ORIGINS.of(GONE)).toEqual({ name: GONE });
  expect(isOwnWork(ORIGINS.of(GONE))).toBe(true);
});

test('what no person waits for is that of jobs, the heartbeat, subagents, the memory and its vectors', () => {
  expect(ownWork(ORIGINS).toSorted()).toEqual(['cron', 'embeddings', 'heartbeat', 'memory', 'subagent']);
});

test.each([
  ['user', true],
  ['cron', true],
  ['system', true],
  ['api', false],
  ['hook', false],
  ['subagent', false],
  [GONE, false],
])('a message of the origin %s may call a command: %s', (origin, may) => {
  const table = new CommandTable({ origins: ORIGINS, commands: [] });
  expect(table.find(inboundMessage({ origin, text: '/new' })) !== null).toBe(may);
});
