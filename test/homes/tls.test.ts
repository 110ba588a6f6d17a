import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Postgres } from '../../src/host/homes/postgres.ts';
import { describeWith } from '../support/test-with.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { errorMessage, type AppError } from '../../src/core/util/errors.ts';
import { Authority, type Certified } from '../support/certificates.ts';
import { freePort } from '../support/free-port.ts';
import { postgresPrograms, startPostgres, type Server } from '../support/postgres.ts';
import { recordingLog } from '../support/recording-log.ts';
import { tempFolder } from '../support/temp.ts';
import { startTlsRelay } from '../support/tls-relay.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld } from '../support/world.ts';

const programs = postgresPrograms();
const PASSWORD = 'a-password-0001';

/** Who may come in over the network, and how. */
const HBA = `
local all all trust
hostssl all certified 127.0.0.1/32 cert
hostssl all all 127.0.0.1/32 scram-sha-256
`;

describeWith('PostgreSQL', 'openssl')('TLS to PostgreSQL', () => {
  let stack: AsyncDisposableStack;
  let server: Server;
  let folder: string;
  let authority: Authority;
  let client: Certified;
  let port: number;
  let local: string;
  let database: string;

  beforeAll(async () => {
    await using owned = new AsyncDisposableStack();
    folder = owned.use(await tempFolder()).path;
    authority = await Authority.make(join(folder, 'ca'));
    const [good, other, expired] = [
      await authority.certify({ names: 'DNS:localhost,IP:127.0.0.1' }),
      await authority.certify({ names: 'DNS:db.example.org' }),
      await authority.certify({ names: 'DNS:localhost,IP:127.0.0.1', isExpired: true }),
    ];
    client = await authority.certify({ subject: '/CN=certified' });
    port = await freePort();
    server = owned.use(
      await startPostgres(programs ?? '', {
        port,
        settings: ['ssl_ca_file=ca.pem'],
        files: {
          'pg_hba.conf': HBA,
          'postgresql.auto.conf': 'ssl=on\n',
          'ca.pem': authority.cert,
          'server.crt': good.cert,
          'server.key': good.key,
          'other.crt': other.cert,
          'other.key': other.key,
          'expired.crt': expired.cert,
          'expired.key': expired.key,
        },
      }),
    );
    local = await server.database();
    database = /\/(?<name>\w+)\?/u.exec(local)?.groups?.['name'] ?? '';
    await using postgres = await Postgres.open(local, { clock: systemClock });
    await postgres.query(`CREATE ROLE far LOGIN SUPERUSER PASSWORD '${PASSWORD}'`);
    await postgres.query('CREATE ROLE certified LOGIN');
    stack = owned.move();
  });
  afterAll(async () => stack?.[Symbol.asyncDispose]());

  const far = (params: string, host = 'localhost'): string =>
    `postgres://far:${PASSWORD}@${host}:${port}/${database}${params}`;
  const verified = (): string => `?sslmode=verify-full&sslrootcert=${authority.path}`;

  /** How the server sees the connection of this address. */
  async function connected(url: string): Promise<unknown> {
    await using postgres = await Postgres.open(url, { clock: systemClock });
    const [row] = await postgres.query('SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()');
    return row?.['ssl'];
  }
  /** Why it does not come to a connection. */
  async function refusal(url: string): Promise<AppError> {
    const error = await connected(url).then(
      (ssl) => new Error(`connected, TLS: ${String(ssl)}`),
      (failure: AppError) => failure,
    );
    expect(errorMessage(error)).not.toContain(PASSWORD);
    expect(errorMessage(error)).not.toContain('\n');
    return error as AppError;
  }
  /** While the server has this certificate. */
  async function withCertificate<T>(name: string, work: () => Promise<T>): Promise<T> {
    await using postgres = await Postgres.open(local, { clock: systemClock });
    const use = async (one: string): Promise<void> => {
      await postgres.query(`ALTER SYSTEM SET ssl_cert_file = '${one}.crt'`);
      await postgres.query(`ALTER SYSTEM SET ssl_key_file = '${one}.key'`);
      await postgres.query('SELECT pg_reload_conf()');
      const used = async (): Promise<boolean> =>
        (await postgres.query('SHOW ssl_cert_file'))[0]?.['ssl_cert_file'] === `${one}.crt`;
      await waitFor(used);
    };
    await use(name);
    try {
      return await work();
    } finally {
      await use('server');
    }
  }

  test('is used with a certificate that the authority of the address has signed, by name and by number', async () => {
    expect(await connected(far(verified()))).toBe(true);
    expect(await connected(far(verified(), '127.0.0.1'))).toBe(true);
    // libpq would check less with these.
    expect(await connected(far(verified().replace('verify-full', 'require')))).toBe(true);
  });

  test('keeps an assistant, whose log and texts never have the password', async () => {
    const log = recordingLog();
    await using world = await startWorld({ log, config: { store: far(verified()) } });
    world.model.reply('hello there');
    world.telegram.userSays(OWNER, 'hello');
    await waitFor(() => chatOf(world).includes('hello there'));
    const { warnings } = await world.assistant.call('info', {});
    expect(warnings.filter((one) => one.includes('PostgreSQL'))).toEqual([]);
    expect(JSON.stringify(log.lines)).toContain('homes: opened');
    expect(JSON.stringify([log.lines, await world.assistant.call('info', {})])).not.toContain(PASSWORD);
  });

  test.each([
    ['', 'PostgreSQL refused: no pg_hba.conf entry for host "127.0.0.1"', 'put sslmode=verify-full into the address'],
    ['?sslmode=verify-full', 'is not signed by an authority that is known here', 'Put sslrootcert=PATH'],
  ])('with %j is refused with what to do', async (params, said, remedy) => {
    const { message } = await refusal(far(params));
    expect(message).toContain(said);
    expect(message).toContain(remedy);
  });

  test('is refused when another authority signed the certificate, unless it is not to be checked', async () => {
    const stranger = await Authority.make(join(folder, 'stranger'));
    const params = `?sslmode=verify-full&sslrootcert=${stranger.path}`;
    const { code, message } = await refusal(far(params));
    expect(code).toBe('store-unreachable');
    expect(message).toBe(
      `PostgreSQL cannot be reached: the certificate of the server at localhost is not signed by the authority in ${stranger.path} (sslrootcert). Put sslrootcert=PATH into the address in store, with the certificate of the authority that signed it.`,
    );
    expect(await connected(far('?sslmode=no-verify'))).toBe(true);
  });

  test('is refused when the certificate has another name', async () => {
    const { message } = await withCertificate('other', () => refusal(far(verified())));
    expect(message).toBe(
      'PostgreSQL cannot be reached: the certificate of the server at localhost is for db.example.org and not for localhost. Name the server in the address in store as its certificate does, or give it one for localhost.',
    );
  });

  test('is refused when the certificate has expired', async () => {
    const { message } = await withCertificate('expired', () => refusal(far(verified())));
    expect(message).toBe(
      'PostgreSQL cannot be reached: the certificate of the server at localhost has expired by the clock of this machine. Renew it there.',
    );
  });

  test('is refused by a server that has none, which is never asked without', async () => {
    const other = await freePort();
    await using plain = await startPostgres(programs ?? '', {
      port: other,
      files: { 'pg_hba.conf': 'local all all trust\nhost all all 127.0.0.1/32 trust\n' },
    });
    await plain.database();
    const address = (params: string): string => `postgres://assistant:${PASSWORD}@127.0.0.1:${other}/test_1${params}`;
    expect(await connected(address(''))).toBe(false);
    for (const params of [verified(), '?sslmode=require', '?sslmode=no-verify']) {
      expect((await refusal(address(params))).message).toBe(
        'PostgreSQL cannot be reached: the server at 127.0.0.1 has no TLS, which the address in store asks for. Set ssl = on in its postgresql.conf. sslmode=disable goes without, where no one else is on the way.',
      );
    }
  });

  test('takes the certificate of a gateway in place of a password, renewed while it runs', async () => {
    const own = { cert: join(folder, 'own.pem'), key: join(folder, 'own.key') };
    await cp(client.certPath, own.cert);
    await cp(client.keyPath, own.key);
    const url = far(`${verified()}&sslcert=${own.cert}&sslkey=${own.key}`).replace(`far:${PASSWORD}`, 'certified');
    await using postgres = await Postgres.open(url, { clock: systemClock, most: 1 });
    const serial = async (): Promise<unknown> =>
      (await postgres.query('SELECT client_serial::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()'))[0]?.[
        'client_serial'
      ];
    const before = await serial();
    expect(before).toMatch(/^\d+$/u);
    const renewed = await authority.certify({ subject: '/CN=certified' });
    await cp(renewed.certPath, own.cert);
    await cp(renewed.keyPath, own.key);
    await using admin = await Postgres.open(local, { clock: systemClock });
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'certified'");
    const again = await waitFor(serial);
    expect(again).not.toBe(before);
    // While it is being replaced, the last one goes on to be used.
    await writeFile(own.cert, '');
    await admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'certified'");
    expect(await waitFor(serial)).toBe(again);
  });

  test('without the certificate that the server asks for says which settings name it', async () => {
    const { message } = await refusal(far(verified()).replace(`far:${PASSWORD}`, 'certified'));
    expect(message).toContain('connection requires a valid client certificate. Put sslcert=PATH and sslkey=PATH');
    const stranger = await Authority.make(join(folder, 'strange-client'));
    const { certPath, keyPath } = await stranger.certify({ subject: '/CN=certified' });
    const url = far(`${verified()}&sslcert=${certPath}&sslkey=${keyPath}`).replace(`far:${PASSWORD}`, 'certified');
    expect((await refusal(url)).message).toContain('look at sslcert and sslkey');
  });

  test.each([
    [
      'sslrootcert',
      '/nowhere/ca.pem',
      '/nowhere/ca.pem, which the address in store names as sslrootcert, cannot be read: there is no such file',
    ],
    ['sslrootcert', import.meta.filename, 'cannot be used'],
  ])('with %s=%s names the file', async (name, path, said) => {
    const error = await refusal(far(`?sslmode=verify-full&${name}=${path}`));
    expect(error.message).toContain(said);
    expect(error).toMatchObject({ code: 'store-tls', exitCode: 78 });
  });

  test('with a key that belongs to another certificate says so', async () => {
    const { keyPath } = await authority.certify();
    const { message } = await refusal(far(`${verified()}&sslcert=${client.certPath}&sslkey=${keyPath}`));
    expect(message).toContain('a key that belongs to the certificate');
  });

  test('binds the login to the certificate of the server, so one in between is noticed', async () => {
    await using relay = await startTlsRelay(port, await authority.certify());
    const through = far(verified()).replace(`:${port}/`, `:${relay.port}/`);
    expect((await refusal(through)).message).toContain('channel binding');
    expect(await connected(`${through}&channel_binding=disable`)).toBe(true);
  });
});
