import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { builtProgram } from '../support/built-program.ts';
import { freePort } from '../support/free-port.ts';
import { postgresPrograms, startPostgres } from '../support/postgres.ts';
import { testWith } from '../support/test-with.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';

/** No container engine is asked: what the file says is read, and its commands run as they stand there, with paths and ports of the test. */

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const FOLDER = join(ROOT, 'docs', 'several-machines');
const programs = postgresPrograms();

/** What a person writes into gateways.env for one home. */
const ONE_HOME = { OPENAI_API_KEY: 'a-key-0001', ASSISTANT_AGENT__MODEL: 'openai/a-model' };

interface Service {
  readonly user?: string;
  readonly restart: string;
  readonly read_only: boolean;
  readonly cap_drop: readonly string[];
  readonly security_opt: readonly string[];
  readonly mem_limit: string;
  readonly pids_limit: number;
  readonly stop_grace_period: string;
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly secrets: readonly string[];
  readonly volumes: readonly string[];
  readonly healthcheck?: { readonly test: readonly string[] };
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
  readonly volumes: Readonly<Record<string, null>>;
}

async function compose(): Promise<Compose> {
  return parse(await readFile(join(FOLDER, 'compose.yaml'), 'utf8'), { merge: true }) as Compose;
}

test('the file for several gateways opens no port, gives few rights, and keeps passwords out of the environment', async () => {
  const { services, secrets, volumes } = await compose();
  expect(Object.keys(services)).toEqual(['db', 'gateway-1', 'gateway-2']);
  for (const [name, service] of Object.entries(services)) {
    expect(service, name).toMatchObject({ read_only: true, cap_drop: ['ALL'], restart: 'unless-stopped' });
    expect(service.security_opt).toContain('no-new-privileges:true');
    expect(service.ports).toBeUndefined();
    expect([service.mem_limit, service.pids_limit, service.stop_grace_period]).not.toContain(undefined);
    expect(JSON.stringify(service.environment)).not.toMatch(/PASSWORD"|postgres:\/\//u);
    for (const secret of service.secrets) expect(secrets).toHaveProperty(secret);
    for (const volume of service.volumes) {
      const [source = ''] = volume.split(':');
      if (source.startsWith('.')) expect(existsSync(join(FOLDER, source)), source).toBe(true);
      else expect(volumes).toHaveProperty(source);
    }
  }
  expect(services['db']).toMatchObject({ user: 'postgres', network_mode: 'none' });
  // Each gateway has a folder of its own, and both the socket of the database.
  expect(services['gateway-1']?.volumes).toEqual(['gateway-1:/data', 'socket:/run/postgresql']);
  expect(services['gateway-2']?.volumes).toEqual(['gateway-2:/data', 'socket:/run/postgresql']);
  expect(existsSync(join(FOLDER, services['gateway-1']?.build ?? '', 'Dockerfile'))).toBe(true);
  for (const option of services['gateway-1']?.security_opt ?? [])
    if (option.startsWith('seccomp=')) expect(existsSync(join(FOLDER, option.slice('seccomp='.length)))).toBe(true);
});

test('what the file names for secrets is in no image and no repository', async () => {
  const { secrets } = await compose();
  for (const name of ['.dockerignore', '.gitignore']) {
    const ignored = (await readFile(join(ROOT, name), 'utf8')).split('\n').map((line) => line.replace(/\/$/u, ''));
    for (const { file } of Object.values(secrets))
      expect(ignored).toContain(`docs/several-machines/${file.split('/')[0] ?? ''}`);
    expect(ignored).toContain('docs/several-machines/gateways.env');
  }
});

testWith('PostgreSQL')(
  'two gateways start with what the file gives them: both are healthy, one runs the home, and the other takes over when that stops',
  async () => {
    const { services } = await compose();
    const { db, 'gateway-1': gateway } = services;
    await using folder = await tempFolder();
    const port = await freePort();
    const auth = /--auth-local=(?<local>\S+) --auth-host=(?<host>\S+)/u.exec(
      db?.environment['POSTGRES_INITDB_ARGS'] ?? '',
    );
    await using server = await startPostgres(programs ?? '', {
      user: 'postgres',
      port,
      files: {
        'pg_hba.conf': `local all postgres trust\nlocal all all ${auth?.groups?.['local']}\nhost all all all ${auth?.groups?.['host']}\n`,
      },
    });
    const url = await server.database();
    const socket = decodeURIComponent(/host=(?<host>[^&]*)/u.exec(url)?.groups?.['host'] ?? '');
    const secret = (name: string): string => join(folder.path, name);
    await writeFile(secret('store_password'), '0123456789abcdef\n');
    await writeFile(secret('store'), `postgres://assistant:0123456789abcdef@/test_1?host=${socket}&port=${port}`);
    const admin = { POSTGRES_USER: 'postgres', POSTGRES_DB: 'test_1', PGHOST: socket, PGPORT: String(port) };
    const env = { PATH: process.env['PATH'] ?? '', ...admin, STORE_PASSWORD_FILE: secret('store_password') };
    await run('bash', [join(FOLDER, 'roles.sh')], { env });
    const [kind, ...ready] = db?.healthcheck?.test ?? [];
    expect(kind).toBe('CMD');
    await run(ready[0] ?? '', ready.slice(1), { env });

    const dockerfile = await readFile(join(ROOT, 'Dockerfile'), 'utf8');
    const [, check = ''] = /HEALTHCHECK [^\n]*\\\n {2}CMD (\[.*\])/u.exec(dockerfile) ?? [];
    const [node = '', ...words] = JSON.parse(check) as string[];
    const program = await builtProgram();
    const log = new Map<string, string>();
    const start = async (
      name: string,
      extra: Readonly<Record<string, string>> = {},
    ): Promise<{ readonly child: ChildProcess; readonly healthy: () => Promise<boolean> }> => {
      const home = join(folder.path, name, 'data');
      await mkdir(home, { recursive: true, mode: 0o700 });
      const own = await freePort();
      const child = spawn(
        process.execPath,
        ['--max-semi-space-size=4', program.launcher, 'gateway', '--port', String(own)],
        {
          stdio: ['ignore', 'ignore', 'pipe'],
          env: program.environment({
            HOME: join(folder.path, name),
            ASSISTANT_HOME: home,
            ...extra,
            ...Object.fromEntries(
              Object.entries(gateway?.environment ?? {}).map(([key, value]) => [
                key,
                value.replace('/run/secrets', folder.path),
              ]),
            ),
          }),
        },
      );
      child.stderr.on('data', (data: Buffer) => log.set(name, (log.get(name) ?? '') + data.toString()));
      const asked = words.map((word) => word.replace('18790', String(own)));
      const healthy = (): Promise<boolean> => run(node, asked).then(Boolean, () => false);
      return { child, healthy };
    };
    const stop = async (child: ChildProcess): Promise<void> => {
      if (child.exitCode !== null) return;
      const gone = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await gone;
    };
    const runs = (name: string): boolean => /\bready\b/u.test(log.get(name) ?? '');
    await using stack = new AsyncDisposableStack();
    const one = await start('gateway-1', ONE_HOME);
    stack.defer(() => stop(one.child));
    await waitFor(() => runs('gateway-1'), { what: 'gateway-1 to run' });
    const two = await start('gateway-2', ONE_HOME);
    stack.defer(() => stop(two.child));
    await waitFor(two.healthy, { what: 'gateway-2 to be healthy while it waits' });
    expect(await one.healthy()).toBe(true);
    expect(runs('gateway-2')).toBe(false);
    const began = performance.now();
    await stop(one.child);
    expect(performance.now() - began).toBeLessThan(parseInt(gateway?.stop_grace_period ?? '', 10) * 1_000);
    await waitFor(() => runs('gateway-2'), { what: 'gateway-2 to take over' });
    expect(await two.healthy()).toBe(true);
    await stop(two.child);
    const many = await start('machine', { ASSISTANT_HOMES__ENABLED: 'true' });
    stack.defer(() => stop(many.child));
    await waitFor(many.healthy, { what: 'a gateway of many homes to be healthy' });
    expect([...log.values()].join('')).not.toContain('0123456789abcdef');
  },
);
