import { AppError } from '../../core/util/errors.ts';
import { oneLine } from '../../core/util/text.ts';
import { LEASE_MS, TRUSTED_PART } from '../homes/lease.ts';
import { saidIn, sqlStateOf } from '../homes/store-failure.ts';
import type { ServerFacts } from '../homes/server-facts.ts';
import { failed, note, ok, skipped, warning, type Found } from '../../core/util/finding.ts';
import { checksOn } from '../../core/doctor/check.ts';
import { fleetChecks } from './fleet.ts';
import { hasDatabase, lookAtDatabase, ofServer, type DatabaseLook } from './database-look.ts';
import type { Scene } from '../../core/doctor/scene.ts';

const database = { live: true, only: hasDatabase } as const;

const serverChecks = checksOn('database', [
  ['database.address', 'the address in `store` leads to a machine or a socket', address, database],
  ['database.connects', 'the server takes the connection, and how long that took', connects, database],
  ['database.version', 'it is PostgreSQL 15 or later', ofServer(version), database],
  ['database.tls', 'a connection that leaves this machine is encrypted', ofServer(tls), database],
  [
    'database.rights',
    'its user may write what a home needs, and make the tables that this version still has to add',
    ofServer(rights),
    database,
  ],
  ['database.pooler', 'no pooler in transaction mode is in between', ofServer(pooler), database],
  [
    'database.clock',
    'its clock and that of this machine differ by less than the margin of a lease',
    ofServer(clockCheck),
    database,
  ],
  [
    'database.commit',
    'how long a commit takes, measured, and what of that a turn waits for',
    ofServer(commit),
    database,
  ],
  [
    'database.durable',
    'what survives: commits wait for the disk of the server, or for a standby too',
    ofServer(durable),
    database,
  ],
]);

/** What the doctor looks at where the home or the homes are kept on PostgreSQL. */
export const databaseChecks = [...serverChecks, ...fleetChecks];

/** The oldest server that has all that is used. */
const OLDEST = 15;
/** Write transactions of a plain turn. */
const COMMITS_OF_A_TURN = 4;
/** Of a turn, ms. */
const SLOW = { warnedMs: 1_000, notedMs: 200 };

async function address(scene: Scene): Promise<readonly Found[]> {
  const look = await lookAtDatabase(scene);
  if (look === null) return [];
  const remedy = scene.command("config set store 'postgres://USER:PASSWORD@HOST/DATABASE'");
  if (look instanceof AppError) return [failed(`The address in store cannot be read: ${said(look)}.`, remedy)];
  return look.servers.map(({ host, port, found }) => {
    if (found.length > 0) return ok(`The address in store leads to ${found.join(', ')}.`);
    if (host.startsWith('/'))
      return failed(`The address in store names the socket of port ${port} in ${host}, and there is none.`, remedy);
    return failed(`The address in store names ${host}, and no such machine is known here.`, remedy);
  });
}

async function connects(scene: Scene): Promise<readonly Found[]> {
  const look = await lookAtDatabase(scene);
  if (look === null) return [];
  if (look instanceof AppError || look.servers.every(({ found }) => found.length === 0))
    return [skipped('The address in store leads nowhere.')];
  const { server } = look;
  if (!(server instanceof AppError)) {
    return [ok(`PostgreSQL ${server.version} at ${placeText(look)} answered after ${millis(server.connectMs)}.`)];
  }
  return [failed(...refusal(look, server))];
}

/** What went wrong while connecting, and what to do. */
function refusal(to: DatabaseLook, error: AppError): readonly [says: string, remedy: string] {
  const where = placeText(to);
  switch (sqlStateOf(error)) {
    case '28P01':
    case '28000':
      return [
        `The server at ${where} does not let the user ${to.user} in: ${said(error)}.`,
        'Correct the user and the password in the setting store, or pg_hba.conf of the server',
      ];
    case '3D000':
      return [
        `The server at ${where} has no database ${to.database}.`,
        `Make it, as a user who may: CREATE DATABASE ${to.database} OWNER ${to.user}`,
      ];
    default:
      if (error.message.includes('unsupported startup parameter')) return [POOLED, POOLER_REMEDY];
      return [
        `The server at ${where} does not answer as it should: ${said(error)}. Without it no home is started, and a running one waits.`,
        `Start the server, or correct the address. To try it: psql -h ${to.servers[0]?.host} -p ${to.servers[0]?.port} -U ${to.user} ${to.database}`,
      ];
  }
}

function version({ version: found, major }: ServerFacts): readonly Found[] {
  if (major >= OLDEST) return [ok(`It is PostgreSQL ${found}.`)];
  return [
    failed(`It is PostgreSQL ${found}, and homes need ${OLDEST} or later.`, `Upgrade the server to ${OLDEST} or later`),
  ];
}

function tls({ isEncrypted }: ServerFacts, look: DatabaseLook): readonly Found[] {
  if (isEncrypted && look.isUnchecked) {
    return [
      warning(
        `The connection to ${placeText(look)} is encrypted, but sslmode=no-verify takes any certificate, so anyone on the way can pretend to be the server.`,
        'Put sslmode=verify-full into the address in store, with sslrootcert=PATH where the server has an authority of its own',
      ),
    ];
  }
  if (isEncrypted) return [ok('The connection is encrypted.')];
  const { place } = look;
  if (place === 'this machine') return [ok('The connection does not leave this machine.')];
  const remedy = 'Add sslmode=verify-full to the address in store, e.g. postgres://…/DATABASE?sslmode=verify-full';
  if (place === 'private network') {
    return [
      note(`The connection to ${placeText(look)} is not encrypted; its address is of a private network.`, remedy),
    ];
  }
  return [
    warning(
      `The connection to ${placeText(look)} is not encrypted, so others on the way can read every conversation.`,
      remedy,
    ),
  ];
}

function rights({ rights: found, isReadOnly }: ServerFacts, { user, database: name }: DatabaseLook): readonly Found[] {
  const { installed, mayInstall, owner, refused } = found;
  if (isReadOnly) {
    return [
      failed(
        'The server takes no writes: it is a standby, or its transactions are read-only.',
        'Name the primary server in the setting store',
      ),
    ];
  }
  if (installed === 'missing') {
    if (mayInstall) return [ok('The first gateway makes the tables of homes there.')];
    return [
      failed(
        `The database has no tables of homes, and the user ${user} may not make them.`,
        `As a user who may, in the database ${name}: CREATE SCHEMA assistant AUTHORIZATION "${user}"`,
      ),
    ];
  }
  if (refused.length > 0) {
    const what = refused.includes('assistant')
      ? 'the schema assistant'
      : refused.map((one) => `assistant.${one}`).join(', ');
    return [
      failed(
        `The user ${user} may not read and write ${what}.`,
        `As ${owner ?? 'its owner'}: GRANT USAGE ON SCHEMA assistant TO "${user}"; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA assistant TO "${user}"`,
      ),
    ];
  }
  if (installed === 'yes') return [ok('Its user may read and write all that a home needs.')];
  if (mayInstall) return [ok('The next start of a gateway of this version adds the tables and columns that it needs.')];
  return [
    failed(
      `This version needs tables or columns that the database does not have yet, and the user ${user} may not add them.`,
      `Start a gateway of this version once with the user ${owner ?? 'that owns the schema'} in the address, or let ${user} own the schema assistant and its tables`,
    ),
  ];
}

const POOLED =
  'A pooler that is not in session mode is between this machine and the server, and homes need connections of their own.';
const POOLER_REMEDY = 'Name the server itself in the setting store, or set pool_mode = session in the pooler';

function pooler({ isPooled }: ServerFacts): readonly Found[] {
  if (isPooled) return [failed(POOLED, POOLER_REMEDY)];
  return [ok('Each connection has one of the server for itself.')];
}

function clockCheck({ clockAheadMs }: ServerFacts, { leaseMs = LEASE_MS }: DatabaseLook): readonly Found[] {
  const differs = Math.abs(clockAheadMs);
  const margin = leaseMs * (1 - TRUSTED_PART);
  if (differs <= margin) return [ok(`Its clock and that of this machine differ by ${millis(differs)}.`)];
  return [
    warning(
      `The clock of this machine is ${millis(differs)} ${clockAheadMs > 0 ? 'ahead of' : 'behind'} that of the database, and a lease allows for ${millis(margin)}: set right in one step, it ends the lease of a home early, and reminders come at another time on another gateway.`,
      'Synchronize both clocks (timedatectl set-ntp true)',
    ),
  ];
}

function commit({ commitMs, standbys }: ServerFacts): readonly Found[] {
  if (commitMs === null) return [skipped('The server takes no writes.')];
  if (commitMs instanceof AppError) {
    const says = `A commit does not end: ${said(commitMs)}.`;
    if (standbys === '') return [failed(says, 'Read the log of the server')];
    return [
      failed(
        `${says} The server waits for a standby (synchronous_standby_names: ${oneLine(standbys, 80)}).`,
        'Start that standby, or take it out of synchronous_standby_names',
      ),
    ];
  }
  const turn = commitMs * COMMITS_OF_A_TURN;
  const says = `A commit takes ${millis(commitMs)}, and each turn waits for about ${COMMITS_OF_A_TURN} of these: ${millis(turn)}.`;
  const remedy = 'Use a server that is nearer, or that has a faster disk';
  if (turn >= SLOW.warnedMs) return [warning(says, remedy)];
  return [turn >= SLOW.notedMs ? note(says, remedy) : ok(says)];
}

function durable({ waitsForDisk, synchronousCommit, standbys }: ServerFacts, { user }: DatabaseLook): readonly Found[] {
  if (!waitsForDisk) {
    return [
      warning(
        'The server does not wait for its disk (fsync is off), so a power loss there can lose or damage every home.',
        'Set fsync = on in postgresql.conf, and restart the server',
      ),
    ];
  }
  if (synchronousCommit === 'off') {
    return [
      warning(
        'Commits do not wait for the disk (synchronous_commit is off), so a crash of the server can lose messages that were acknowledged.',
        `ALTER ROLE "${user}" SET synchronous_commit = on`,
      ),
    ];
  }
  if (standbys !== '' && synchronousCommit !== 'local') {
    return [
      ok(`Commits wait for a standby too (${oneLine(standbys, 80)}): they survive the loss of the server's machine.`),
    ];
  }
  return [
    note(
      "Commits wait for the server's disk and for no standby: they survive that a gateway or the server fails, but not the loss of that disk.",
      'To survive that too: a standby, and its name in synchronous_standby_names',
    ),
  ];
}

function placeText({ servers }: Pick<DatabaseLook, 'servers'>): string {
  return servers
    .map(({ host, port }) => (host.startsWith('/') ? `${host} (port ${port})` : `${host}:${port}`))
    .join(', ');
}

/** The words of the server or the network, without ours in front. */
function said(error: AppError): string {
  return oneLine(saidIn(error), 200).replace(/\.$/u, '');
}

function millis(ms: number): string {
  if (ms >= 10_000) return `${Math.round(ms / 1_000)} s`;
  return `${ms < 10 ? ms.toFixed(1) : Math.round(ms)} ms`;
}
