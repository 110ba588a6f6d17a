import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { PROGRAM } from '../support/extensions.ts';
import { configFindings } from '../../src/core/assistant/base.ts';
import { loadConfig, type LoadedConfig } from '../../src/core/config/load.ts';
import { temporaryFolder } from './temporary-home.ts';

const PASSWORD = 'a-password-0001';

/** The configuration with this address. */
async function load(store: string): Promise<LoadedConfig> {
  const home = temporaryFolder();
  writeFileSync(join(home, 'config.json'), JSON.stringify({ store }), { mode: 0o600 });
  return await loadConfig({ program: PROGRAM, home, env: {} });
}

describe('the setting store', () => {
  test.each([
    'postgres://assistant@db.example.org/assistant?sslmode=verify-full',
    'postgresql://assistant:p%40ss@127.0.0.1:5433/assistant?leaseSeconds=5',
    'postgres://assistant@/assistant?host=%2Frun%2Fpostgresql',
    'postgres://a:p%w@db-1:5433,db-2/assistant?sslmode=verify-full',
    'postgres://a@[2001:db8::1]:5432/assistant?sslmode=verify-full&sslrootcert=/etc/ca.pem&sslcert=/c.pem&sslkey=/k.pem',
    'postgres://a@db.example.org/assistant?sslmode=require&sslrootcert=system&channel_binding=prefer&application_name=x',
  ])('takes %s', async (store) => {
    expect((await load(store)).config.store).toBe(store);
  });

  test.each([
    ['postgres://a:a-password-0001@host:port/x', 'an address such as postgres://user@host/database'],
    ['mysql://db/assistant', 'an address such as postgres://user@host/database'],
    [`postgres://a:${PASSWORD}/x@db/assistant`, 'with / ? # @ in a password as %2F %3F %23 %40'],
    ['postgres://a@db/assistant?target_session_attrs=primary', 'an address without target_session_attrs'],
    ['postgres://a@db/assistant?sslmode=prefer', 'an address with sslmode=verify-full, no-verify or disable'],
    ['postgres://a@db/assistant?sslmode=verifyfull', 'an address with sslmode=verify-full, no-verify or disable'],
    ['postgres://a@db/assistant?uselibpqcompat=true&sslmode=require', 'an address without uselibpqcompat'],
    ['postgres://a@db/assistant?sslmode=verify-full&sslcrl=/crl.pem', 'an address without sslcrl'],
    ['postgres://a@db/assistant?sslrootcert=/ca.pem', 'an address with sslmode=verify-full where it has sslrootcert'],
    [
      'postgres://a@db/assistant?sslmode=verify-full&sslrootcert=ca.pem',
      'an address whose sslrootcert is an absolute path',
    ],
    ['postgres://a@db/assistant?sslmode=verify-full&sslcert=/c.pem', 'both sslcert and sslkey, or neither'],
    ['postgres://a@db/assistant?channel_binding=require', 'an address with channel_binding=prefer or disable'],
    ['postgres://a@db/assistant?leaseSeconds=soon', 'leaseSeconds is a whole number of at least 1'],
  ])('refuses %s', async (store, expected) => {
    const error = await load(store).then(
      () => new Error('it was taken'),
      (failure: Error) => failure,
    );
    expect(error.message).toContain('store must be ');
    expect(error.message).toContain(expected);
    expect(error.message).not.toContain(PASSWORD);
  });

  test.each([
    ['postgres://a@db.example.org/assistant', 'PostgreSQL at db.example.org without TLS'],
    ['postgres://a@/assistant?host=10.0.0.7&sslmode=disable', 'PostgreSQL at 10.0.0.7 without TLS'],
    ['postgres://a@db.example.org/assistant?sslmode=no-verify', 'PostgreSQL at db.example.org with sslmode=no-verify'],
    ['postgres://a@db.example.org/assistant?sslmode=verify-full', undefined],
    ['postgres://a@localhost,db-2/assistant', 'PostgreSQL at localhost,db-2 without TLS'],
    ['postgres://a@localhost/assistant', undefined],
    ['postgres://a@127.0.0.1/assistant', undefined],
    ['postgres://a@/assistant?host=%2Frun%2Fpostgresql', undefined],
  ])('warns of what others on the way can read: %s', async (store, expected) => {
    const warning = configFindings(await load(store), 1_000)[0]?.says;
    if (expected === undefined) expect(warning).toBeUndefined();
    else expect(warning).toContain(expected);
  });
});
