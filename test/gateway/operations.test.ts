import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { homePaths } from '../../src/core/config/home.ts';
import { connectControl, type ControlClient } from '../../src/core/gateway/control-client.ts';
import type { CallOptions } from '../../src/core/gateway/assistant-port.ts';
import type { Operation } from '../../src/core/gateway/operations/operation.ts';
import { OPERATIONS, type CoreOperations, type RequestParams } from '../../src/core/gateway/operations/operations.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { AppError } from '../../src/core/util/errors.ts';
import { EXTENSIONS } from '../../src/extensions/index.ts';
import { failureOf } from '../config/temporary-home.ts';
import { startWorld, type World } from '../support/world.ts';

/** A call of each operation that its schema takes; those of changing operations find nothing to change. */
const CORE: { readonly [Name in keyof CoreOperations]: RequestParams<Name> } = {
  info: {},
  filesList: {},
  filesRead: { name: 'SOUL.md' },
  filesWrite: { name: 'SOUL.md', text: 'x', hash: 'none' },
  filesLog: { name: 'SOUL.md' },
  filesVersion: { name: 'SOUL.md', id: 'nothing' },
  filesRestore: { name: 'SOUL.md', id: 'nothing' },
  sessionsList: { limit: 1 },
  sessionsExport: { session: 'telegram:nobody', format: 'md' },
  sessionsRead: { session: 'telegram:nobody' },
  pageLink: {},
  skillsList: {},
  skillsSet: { name: 'nothing', enabled: true },
  skillsInstall: { upload: 'nothing', confirm: 'nothing' },
  skillsRemove: { name: 'nothing' },
  health: {},
  modelsList: {},
  usageSeries: { by: 'model', days: 1 },
  prompt: { session: 'terminal:main' },
  commands: {},
  memoryLog: {},
  memoryFacts: {},
  memoryShow: {},
  memoryRestore: { id: 'nothing' },
  memoryForget: { words: 'the surprise party' },
  pairList: {},
  pairApprove: { code: 'NOTHING' },
  pairRemove: { person: 'telegram:7' },
  approvalsList: {},
  approvalsForget: { id: 'nothing' },
  toolsList: {},
  toolRun: { name: 'nothing', arguments: '{}', dryRun: false },
  pluginsList: {},
  configReload: {},
  outboxList: {},
  outboxRetry: { id: 'nothing' },
  outboxDrop: { id: 'nothing' },
  inboxList: {},
  inboxRetry: { id: 'nothing' },
  inboxDrop: { id: 'nothing' },
  sessionsSearch: { text: 'nothing', count: 1 },
  sessionsDelete: { session: 'telegram:nobody' },
  usage: { by: 'day', days: 1 },
  why: { count: 1 },
  turnsList: { count: 1 },
  turnsTrace: { turn: 'nothing' },
  editorsOpen: { session: 'acp:nothing', folder: '/nowhere' },
  editorsAllow: { session: 'acp:nothing-else', allowed: true, always: false },
  editorsReadOnly: { session: 'acp:nothing-else', readOnly: true },
  editorsServers: { session: 'acp:one' },
  editorsShow: { session: 'acp:nothing-else' },
  editorsChanges: { session: 'acp:nothing-else', turn: 'nothing', call: 'nothing' },
  undoTurn: { turn: 'nothing', dry: false },
  audit: { count: 1, asked: false, about: '' },
};

const CALLS: Readonly<Record<string, unknown>> = {
  ...CORE,
  cron: { action: 'run', id: 'nothing' },
  turnsSave: { turn: 'nothing' },
  mcpList: {},
  mcpTest: { name: 'nothing' },
  mcpTrust: { name: 'nothing', hash: 'none' },
};

const ALL: readonly (readonly [string, Operation])[] = [
  ...OPERATIONS,
  ...EXTENSIONS.flatMap(({ operations = [] }) => operations),
].map((one) => [one.name, one]);

let world: World;
let client: ControlClient;

beforeAll(async () => {
  world = await startWorld();
  const connected = await connectControl(homePaths(world.home, {}).socket, systemClock);
  if (connected === undefined) throw new Error('nobody listens');
  client = connected;
});
afterAll(async () => {
  client.close();
  await world[Symbol.asyncDispose]();
});

/** What the audit log holds of calls of operations: `WHO what`. */
async function audited(): Promise<readonly string[]> {
  const text = await readFile(join(world.home, 'audit.jsonl'), 'utf8').catch(() => '');
  const entry = z.object({ who: z.string().nullable(), what: z.string() });
  const lines = text.split('\n').filter((line) => line !== '');
  return lines.map((line) => entry.parse(JSON.parse(line))).map(({ who, what }) => `${who} ${what}`);
}

const call = (name: unknown, params: unknown): Promise<unknown> => client.request('call', { name, params });

/** Calls it in the process itself, as this person. */
const ask = (name: string, by?: CallOptions): Promise<unknown> =>
  world.assistant.call(name as never, CALLS[name] as never, by);

/** The schemas of all parameters, those inside of objects and lists too. */
function partsOf({ properties = {}, items }: z.core.JSONSchema.JSONSchema): readonly unknown[] {
  const inner = [...Object.values(properties), ...(Array.isArray(items) ? items : [items])];
  const schemas = inner.filter((part) => typeof part === 'object');
  return [...Object.values(properties), ...schemas.flatMap((part) => partsOf(part))];
}

describe.each(ALL)('the operation %s', (name, { about, role = 'owner', input, changes }) => {
  test('says in a full sentence what it does, who may call it, and what each parameter means', () => {
    expect(about).toMatch(/^[A-Z][a-z].{20,}\.$/u);
    expect(['owner', 'trusted', 'guest']).toContain(role);
    for (const part of partsOf(z.toJSONSchema(input, { io: 'input' })))
      expect(part).toMatchObject({ description: expect.stringMatching(/\.$/u) });
  });

  test('has a call that its schema takes as it is', () => {
    const given = CALLS[name];
    expect(input.parse(given)).toEqual(given);
  });

  test('refuses parameters that do not fit, over the control socket, with one sentence', async () => {
    expect(await failureOf(call(name, null))).toMatchObject({
      code: 'operation-invalid',
      message: `${name} must be an object, but null was given.`,
    });
  });

  test(`is ${changes === null ? 'not ' : ''}in the audit log after a call over the control socket`, async () => {
    const before = await audited();
    const given = CALLS[name];
    // That there is nothing of the kind to change comes after the line.
    await call(name, given).catch((error: unknown) => expect(error).not.toMatchObject({ code: 'operation-invalid' }));
    const lines = (await audited()).slice(before.length);
    expect(lines).toHaveLength(changes === null ? 0 : 1);
    if (changes !== null) expect(lines[0]).toMatch(/^terminal:owner [a-z]+/u);
  });
});

test.each(ALL)(
  '%s is refused to whoever has a lower role, before it does anything',
  async (name, { role = 'owner' }) => {
    const lower = (['guest', 'trusted'] as const).filter((one) => one !== role && role !== 'guest');
    const before = await audited();
    for (const one of lower)
      expect(await failureOf(ask(name, { door: 'web:somebody', role: one }))).toMatchObject({
        code: 'operation-refused',
        message: `${name} needs the role ${role}, but web:somebody has the role ${one}.`,
      });
    expect(await audited()).toEqual(before);
  },
);

test.each(ALL)('%s answers what it says that it answers', async (name, { output }) => {
  const answer = await ask(name).catch((error: unknown) => {
    if (error instanceof AppError) return error;
    throw error;
  });
  if (!(answer instanceof AppError)) expect(output.parse(answer)).toEqual(answer);
});

test('a call says in the audit log what it was about, and through which door it came', async () => {
  const before = (await audited()).length;
  const caller = { door: 'web:owner' };
  await failureOf(world.assistant.call('outboxRetry', { id: '01ABC' }, caller));
  await failureOf(world.assistant.call('pairApprove', { code: 'XYZ', role: 'guest' }, caller));
  await failureOf(world.assistant.call('cron', { action: 'remove', id: 'tea' }));
  await world.assistant.call('cron', { action: 'list' }, caller);
  expect((await audited()).slice(before)).toEqual([
    'web:owner outbox retry 01ABC',
    'web:owner pair approve XYZ as guest',
    'terminal:owner cron remove tea',
  ]);
});

test.each([
  ['usages', 'There is no operation "usages". Did you mean usage?'],
  ['constructor', 'There is no operation "constructor".'],
  [undefined, 'There is no operation "".'],
  [`${'x'.repeat(500)}\n`, `There is no operation "${'x'.repeat(59)}…".`],
])('a call of the unknown operation %j gets one sentence', async (name, message) => {
  expect(await failureOf(call(name, {}))).toMatchObject({ code: 'operation-unknown', message });
});

test('a wrong parameter is named with what was expected and what was given', async () => {
  expect(await failureOf(call('usage', { by: 'hour', days: 1 }))).toMatchObject({
    code: 'operation-invalid',
    message: 'usage.by must be one of "day", "model", "source", "session", "job", but "hour" was given.',
  });
});

test('the link to the page lets a browser in, once', async () => {
  const { link } = await world.assistant.call('pageLink', {});
  const { origin, hash } = new URL(link);
  const enter = (): Promise<Response> =>
    fetch(`${origin}/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin },
      body: JSON.stringify({ code: hash.replace('#login=', '') }),
    });
  const entered = await enter();
  expect(entered.status).toBe(204);
  expect(entered.headers.get('set-cookie')).toMatch(/^assistant_session\w*=/u);
  expect((await enter()).status).toBe(401);
});

test('there is no link to a page that is not served', async () => {
  await using other = await startWorld({ config: { gateway: { ui: false } } });
  expect(await failureOf(other.assistant.call('pageLink', {}))).toMatchObject({
    code: 'http-off',
    message: 'This assistant serves no page. Set gateway.ui to true, and restart it.',
  });
});
