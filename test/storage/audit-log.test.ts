import { createHash } from 'node:crypto';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AuditLog, type AuditDraft } from '../../src/core/storage/audit-log.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { tempFolder } from '../support/temp.ts';
import { VirtualClock } from '../support/virtual-clock.ts';

const DRAFT: AuditDraft = {
  turn: 't1',
  session: 'telegram:42',
  who: 'telegram:42',
  role: 'owner',
  origin: 'user',
  what: 'exec {"command":"ls"}',
  decision: 'allowed',
  reason: null,
  approval: null,
};

async function openAudit(mask: (text: string) => string = (text) => text) {
  const folder = await tempFolder();
  const path = join(folder.path, 'audit.jsonl');
  const log = new AuditLog(path, { clock: new VirtualClock(0), log: silentLog, mask });
  return {
    log,
    path,
    [Symbol.asyncDispose]: async () => {
      await log[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

test('a decision is one line, in the file before it is told to be, for the eyes of its owner alone', async () => {
  await using audit = await openAudit();
  await audit.log.record(DRAFT);
  expect(JSON.parse(await readFile(audit.path, 'utf8'))).toEqual({ at: '1970-01-01T00:00:00.000Z', ...DRAFT });
  expect((await stat(audit.path)).mode & 0o777).toBe(0o600);
});

test('no configured secret gets into it, and no line is endless: what is left out is counted and has its hash', async () => {
  await using audit = await openAudit((text) => text.replaceAll('hunter2', '[redacted]'));
  await audit.log.record({ ...DRAFT, what: `hunter2 ${'x'.repeat(50_000)}`, reason: 'hunter2', approval: 'hunter2' });
  const text = await readFile(audit.path, 'utf8');
  expect(text).not.toContain('hunter2');
  expect(text.length).toBeLessThan(10_000);
  const hash = createHash('sha256')
    .update(`[redacted] ${'x'.repeat(50_000)}`)
    .digest('hex');
  expect(text).toContain(`x… (50011 characters, SHA-256 ${hash})`);
});

test('the newest come first, chosen by what they are about, past lines that cannot be read', async () => {
  await using audit = await openAudit();
  await writeFile(audit.path, '{"half\n');
  for (let n = 0; n < 5; n += 1) {
    await audit.log.record({ ...DRAFT, what: `call ${n}`, decision: n % 2 === 0 ? 'allowed' : 'refused' });
  }
  const newest = await audit.log.newest(2, ({ decision }) => decision === 'allowed');
  expect(newest.map(({ what }) => what)).toEqual(['call 4', 'call 2']);
  expect(await audit.log.newest(100, () => true)).toHaveLength(5);
});

test('a full file makes room for a new one, and what is in it can still be found', async () => {
  await using audit = await openAudit();
  const old = JSON.stringify({ at: '1970-01-01T00:00:00.000Z', ...DRAFT, what: 'the oldest' });
  await writeFile(audit.path, `${old}\n${' '.repeat(20_000_000)}\n`);
  await audit.log.record({ ...DRAFT, what: 'still in the full one' });
  await audit.log.record({ ...DRAFT, what: 'in the new one' });
  expect((await readFile(audit.path, 'utf8')).split('\n')).toHaveLength(2);
  expect((await audit.log.newest(10, () => true)).map(({ what }) => what)).toEqual([
    'in the new one',
    'still in the full one',
    'the oldest',
  ]);
});

test('a disk that takes no line stops nothing', async () => {
  await using folder = await tempFolder();
  const errors: string[] = [];
  await using log = new AuditLog(join(folder.path, 'audit.jsonl'), {
    clock: new VirtualClock(0),
    log: { ...silentLog, error: (message: string) => errors.push(message) },
    mask: (text) => text,
    disk: {
      open: async () => {
        throw new Error('ENOSPC');
      },
    },
  });
  await log.record(DRAFT);
  expect(errors).toEqual(['audit: write failed']);
});
