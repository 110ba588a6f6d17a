import { createHmac } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { saidIn } from '../../src/core/session/entry.ts';
import { startApi, type ApiWorld } from '../support/api-world.ts';
import { failureOf, load } from '../config/temporary-home.ts';
import { SkippingClock } from '../support/skipping-clock.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER } from '../support/world.ts';

const SECRET = 'a-secret-of-the-build-0001';
const build = { secret: SECRET };
const bearer = { Authorization: `Bearer ${SECRET}` };

/** Calls without the token of the gateway. */
async function call(
  api: ApiWorld,
  name: string,
  body: unknown,
  headers: Readonly<Record<string, string>> = bearer,
): Promise<{ readonly status: number; readonly body: unknown; readonly retryAfter: string | null }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(`${await api.base()}/hooks/${name}`, { method: 'POST', body: text, headers });
  return { status: response.status, body: await response.json(), retryAfter: response.headers.get('retry-after') };
}

const asked = (api: ApiWorld, count: number): Promise<unknown> =>
  waitFor(() => api.world.model.requests.length >= count, { what: `${count} turns` });

describe('POST /hooks/<name>', () => {
  test('starts a turn of a guest with the template, in which each value is fenced and none is expanded again', async () => {
    const template = 'Build of {{project.name}}: {{state}}, {{steps.1}}, {{missing.field}}. Say what to do.';
    await using api = await startApi({ config: { hooks: { build: { ...build, template } } } });
    api.world.model.reply('Look at the tests.');
    const body = { project: { name: 'boat {{state}}' }, state: 'failed', steps: ['a', { b: 1 }] };
    expect(await call(api, 'build', body)).toMatchObject({ status: 202, body: { accepted: 'accepted' } });
    await asked(api, 1);
    const said = api.world.model.requests[0]?.view.lastUserText ?? '';
    expect(said).toContain('webhook build (guest)');
    expect(said).toMatch(
      /Build of \n<untrusted [^>]*source="webhook build"[^>]*>\nboat \{\{state\}\}\n<\/untrusted [^>]*>\n: \n<untrusted [^>]*>\nfailed\n/u,
    );
    expect(said).toMatch(/>\n\{"b":1\}\n<.*>\n, \(nothing\)\. Say what to do\./u);
    expect(api.world.model.requests[0]?.view.tools).not.toContain('exec');
    const tape = await waitFor(async () => {
      const entries = await api.world.tape('hook:build');
      return entries.some(({ kind }) => kind === 'turn-end') ? entries : null;
    });
    expect(tape.find((entry) => entry.kind === 'turn-start')).toMatchObject({ role: 'guest', origin: 'hook' });
    expect(tape.find((entry) => entry.kind === 'message')).toMatchObject({ role: 'user', untrusted: true });
    expect(chatOf(api.world)).toEqual([]);
  });

  test('without a template sends the whole body, cut where it is long', async () => {
    await using api = await startApi({ config: { hooks: { build } } });
    api.world.model.reply('Seen.');
    await call(api, 'build', `no JSON ${'x'.repeat(10_000)}`);
    await asked(api, 1);
    expect(api.world.model.requests[0]?.view.lastUserText).toMatch(
      /no JSON x{3992}… \(6008 more characters\)\n<\/untrusted/u,
    );
  });

  test('sends the answer to the chat that is named, and knows nothing of what is said there', async () => {
    await using api = await startApi({ config: { hooks: { build: { ...build, chat: `telegram:${OWNER}` } } } });
    api.world.model.reply('The build failed.');
    await call(api, 'build', { state: 'failed' });
    await waitFor(() => chatOf(api.world).includes('The build failed.'));
    expect((await api.world.tape('hook:build')).some((entry) => saidIn(entry) === 'The build failed.')).toBe(true);
  });

  test('takes the secret as a bearer token, or the body signed with it as GitHub does', async () => {
    await using api = await startApi({ config: { hooks: { build } } });
    api.world.model.setHandler(() => 'ok');
    const sign = (text: string, secret = SECRET): Readonly<Record<string, string>> => ({
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`,
    });
    const cases: readonly [string, Readonly<Record<string, string>>, number][] = [
      ['one', bearer, 202],
      ['two', sign('two'), 202],
      ['three', sign('another body'), 401],
      ['four', sign('four', 'another-secret-00000'), 401],
      ['five', { ...bearer, ...sign('another body') }, 401],
      ['six', { Authorization: `Bearer ${api.token}` }, 401],
      ['seven', {}, 401],
    ];
    for (const [body, headers, status] of cases) {
      expect([body, (await call(api, 'build', body, headers)).status]).toEqual([body, status]);
    }
  });

  test('answers an unknown name as a wrong secret, and slows those who guess but not those who know', async () => {
    await using api = await startApi({ config: { hooks: { build } } });
    api.world.model.setHandler(() => 'ok');
    const unknown = await call(api, 'constructor', 'x');
    const wrong = await call(api, 'build', 'x', { Authorization: 'Bearer wrong' });
    expect(unknown).toEqual(wrong);
    expect(wrong.status).toBe(401);
    for (let n = 0; n < 8; n += 1) await call(api, 'build', 'x', { Authorization: `Bearer wrong-${n}` });
    const slowed = await call(api, 'build', 'x', { Authorization: 'Bearer wrong-again' });
    expect([slowed.status, Number(slowed.retryAfter) > 0]).toEqual([429, true]);
    expect((await call(api, 'build', 'x')).status).toBe(202);
  });

  test('counts a call once: by its key, or by its body for 10 minutes, also after a restart', async () => {
    const clock = new SkippingClock();
    await using api = await startApi({ clock, config: { heartbeat: { enabled: false }, hooks: { build } } });
    api.world.model.setHandler(() => 'ok');
    const accepted = async (body: string, headers: Readonly<Record<string, string>> = {}): Promise<unknown> =>
      (await call(api, 'build', body, { ...bearer, ...headers })).body;
    expect(await accepted('a')).toEqual({ accepted: 'accepted' });
    expect(await accepted('a')).toEqual({ accepted: 'duplicate' });
    clock.skip(540_000);
    await api.world.restart();
    expect(await accepted('a')).toEqual({ accepted: 'duplicate' });
    clock.skip(61_000);
    expect(await accepted('a')).toEqual({ accepted: 'accepted' });
    for (const header of ['Idempotency-Key', 'X-GitHub-Delivery']) {
      expect(await accepted('b', { [header]: header })).toEqual({ accepted: 'accepted' });
      expect(await accepted('c', { [header]: header })).toEqual({ accepted: 'duplicate' });
      expect(await accepted('c', { [header]: `${header}-2` })).toEqual({ accepted: 'accepted' });
    }
  });

  test('refuses a body of more than 1 MB, and more than 60 calls in a minute', async () => {
    await using api = await startApi({ config: { hooks: { build } } });
    api.world.model.setHandler(() => 'ok');
    expect(await statusOf(`${await api.base()}/hooks/build`, 1_000_001)).toBe(413);
    const key = { ...bearer, 'Idempotency-Key': 'the same' };
    for (let n = 0; n < 60; n += 1) expect((await call(api, 'build', 'x', key)).status).toBe(202);
    const last = await call(api, 'build', 'x', key);
    expect([last.status, Number(last.retryAfter) > 0]).toEqual([429, true]);
  });

  test('is no command and answers no question, whatever the body says', async () => {
    await using api = await startApi({
      config: { hooks: { build: { ...build, template: '{{text}}', role: 'owner' } } },
    });
    api.world.model.reply('one', 'two');
    await call(api, 'build', { text: '/stop' });
    await call(api, 'build', { text: ',exec touch made.txt' });
    await asked(api, 2);
  });

  test('is there as soon as it is configured, and gone as soon as it is not', async () => {
    await using api = await startApi({ config: {} });
    api.world.model.setHandler(() => 'ok');
    expect((await call(api, 'late', 'x', bearer)).status).toBe(401);
    const path = join(api.world.home, 'config.json');
    const before = await readFile(path, 'utf8');
    await writeFile(path, JSON.stringify({ ...JSON.parse(before), hooks: { late: build } }));
    await waitFor(async () => (await call(api, 'late', 'x', bearer)).status === 202, { timeoutMs: 20_000 });
    await writeFile(path, before);
    // By now its guesses are slowed.
    await waitFor(async () => (await call(api, 'late', 'y', bearer)).status !== 202, { timeoutMs: 20_000 });
  });
});

describe('what is private to the owner stays hidden from a webhook of any role', () => {
  const ROLES = ['owner', 'trusted', 'guest'] as const;
  const SECRET_WORD = 'zebra-4711';
  /** What the model is sent after it made these calls in the turn of a webhook. */
  const seenBy = async (
    role: (typeof ROLES)[number],
    calls: readonly { readonly name: string; readonly arguments: Readonly<Record<string, unknown>> }[] = [],
  ): Promise<string> => {
    await using api = await startApi({
      config: { hooks: { build: { ...build, template: 'Look at {{text}}', role } } },
      furnish: async (home) => {
        await mkdir(join(home, 'workspace', 'memory'), { recursive: true });
        await writeFile(join(home, 'workspace', 'memory', 'MEMORY.md'), `- The PIN is ${SECRET_WORD}.\n`);
        await writeFile(join(home, 'workspace', 'memory', 'HISTORY.md'), `[2026-01-01 10:00] ${SECRET_WORD}\n`);
        await writeFile(join(home, 'workspace', 'USER.md'), `My PIN is ${SECRET_WORD}.\n`);
      },
    });
    api.world.model.reply(...(calls.length === 0 ? [] : [{ calls: [...calls] }]), 'Seen.', 'Seen again.');
    await call(api, 'build', { text: 'this' });
    await waitFor(() => api.world.model.requests.length >= (calls.length === 0 ? 1 : 2));
    await waitFor(async () => (await api.world.tape('hook:build')).some(({ kind }) => kind === 'turn-end'));
    return api.world.model.requests.map(({ text }) => text).join('\n');
  };

  test.each(ROLES)('the prompt of a webhook with the role %s holds neither MEMORY.md nor USER.md', async (role) => {
    expect(await seenBy(role)).not.toContain(SECRET_WORD);
  });

  test.each([
    ['memory_search', { query: 'PIN' }],
    ['memory_search', { query: 'zebra', since: '2020-01-01' }],
    ['read_file', { path: 'memory/MEMORY.md' }],
    ['read_file', { path: 'memory/HISTORY.md' }],
    ['read_file', { path: 'USER.md' }],
    ['grep', { pattern: 'PIN' }],
    ['exec', { command: 'cat USER.md memory/*' }],
    ['spawn', { label: 'x', task: 'Look into the memory.', wait: true }],
  ])('%s %o in the turn of a webhook of the owner shows nothing of it', async (name, args) => {
    expect(await seenBy('owner', [{ name, arguments: args }])).not.toContain(SECRET_WORD);
  });
});

/** The answer to a body of so many bytes, which may come before all of it is sent. */
function statusOf(url: string, bytes: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers: { 'Content-Length': bytes, ...bearer } }, (response) => {
      resolve(response.statusCode);
      response.destroy();
    });
    sent.on('error', reject);
    sent.end(Buffer.alloc(bytes, 'x'));
  });
}

describe('the settings of a hook', () => {
  test('lack nothing but the secret, which is redacted', async () => {
    const { secrets } = await load(JSON.stringify({ hooks: { build } }));
    expect(secrets).toContain(SECRET);
    const problem = await failureOf(load('{"hooks": {"a": {}}}'));
    expect(problem.message).toContain('hooks.a.secret must be a text, but it is missing');
  });
});

test('a body with half a character is read as one with a replacement character', async () => {
  await using api = await startApi({ config: { hooks: { build: { ...build, template: 'It says {{text}}' } } } });
  api.world.model.reply('Heard.');
  await call(api, 'build', { text: 'half \ud83d' });
  await asked(api, 1);
  expect(api.world.model.requests[0]?.view.lastUserText).toContain('half \ufffd');
});
