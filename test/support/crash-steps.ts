import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** The steps of a message's life, as docs/architecture.md numbers them. */
export const STEPS = ['S0', 'S1', 'S2', 'S3', 'S4', 'S5', 'S6', 'S7', 'S8', 'S9', 'S10'] as const;
export type CrashStep = (typeof STEPS)[number];

export interface Wreck {
  /** Where each message or reply in flight stood. */
  readonly steps: readonly CrashStep[];
  /** Rendered parts whose bytes may have left. */
  readonly sending: readonly string[];
}

/** Turns whose answer may be shown by a message that was begun and of which the platform's id is not known. */
export function begunPreviews(home: string): readonly string[] {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  return db
    .prepare(
      `SELECT turn_id FROM outbound JOIN parts ON parts.outbound_id = outbound.id
       WHERE outbound.state = 'streaming' AND parts.state = 'sending'`,
    )
    .all()
    .map((row) => String(row['turn_id']));
}

/** What turns said in the end, as the parts that were sent. */
export function textsOfTurns(home: string, turns: readonly string[]): readonly string[] {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  return db
    .prepare('SELECT turn_id, text FROM parts JOIN outbound ON outbound.id = parts.outbound_id')
    .all()
    .filter((row) => turns.includes(String(row['turn_id'])))
    .map((row) => String(row['text']));
}

/** What the journal knows of a message, for the one who has to find out why it is missing. */
export function traceOf(home: string, n: number): unknown {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const rows = db
    .prepare(
      `SELECT inbound.state, inbound.reason, inbound.turn_id, turns.state AS turn_state, turns.outcome, turns.attempts,
         (SELECT group_concat(id || ' ' || state || ' ' || coalesce(reason, '') || ' ' || json_extract(payload, '$.text'), ' | ') FROM outbound WHERE outbound.turn_id = turns.id) AS says
       FROM inbound LEFT JOIN turns ON turns.id = inbound.turn_id WHERE inbound.payload LIKE ?`,
    )
    .all(`%number ${n}"%`);
  db.close();
  return rows;
}

/** What the tapes have of a number: the calls that were to write it, their results, and what was said of it. */
export function linesOf(home: string, n: number): readonly string[] {
  const lines = readTapes(join(home, 'sessions')).map((line) => JSON.stringify(line));
  const calls = lines.flatMap((line) => Array.from(line.matchAll(/"callId":"(?<id>[^"]+)"[^{}]*echo (?<n>\d+) /gu)));
  const ids = calls.filter(({ groups }) => Number(groups?.['n']) === n).map(({ groups }) => groups?.['id'] ?? '');
  const names = [`number ${n}"`, `answer ${n}.`, ...ids];
  return lines.filter((line) => names.some((name) => line.includes(name)));
}

export interface Ledger {
  /** Ids of results that say "interrupted". */
  readonly interruptedCalls: readonly string[];
  /** What these calls were to do: their arguments. */
  readonly interruptedWork: readonly string[];
  /** Ids of the notices about them. */
  readonly notices: readonly string[];
  /** Texts of what ended without arriving and of which a delivered notice told. */
  readonly told: readonly string[];
  /** Messages, turns and replies that have not come to an end. */
  readonly open: number;
}

/** How many messages, turns and replies have not come to an end. */
export function countOpen(home: string): number {
  using db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const count = (sql: string): number => Number(db.prepare(sql).get()?.['n']);
  return (
    count("SELECT count(*) AS n FROM inbound WHERE state IN ('accepted', 'running')") +
    count("SELECT count(*) AS n FROM turns WHERE state IN ('running', 'stopping')") +
    count("SELECT count(*) AS n FROM outbound WHERE state IN ('pending', 'sending', 'uncertain')")
  );
}

/** What journal and tapes say when all is over. */
export function readLedger(home: string): Ledger {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const told = db
    .prepare(
      `SELECT json_extract(lost.payload, '$.text') AS text FROM outbound AS lost
       JOIN outbound AS notice ON notice.id = lost.told_by WHERE notice.state = 'delivered'`,
    )
    .all()
    .map((row) => String(row['text']));
  const notices = db
    .prepare("SELECT id FROM outbound WHERE id LIKE '%:interrupted'")
    .all()
    .map((row) => String(row['id']));
  db.close();
  const lines = readTapes(join(home, 'sessions'));
  const interrupted = lines.filter(({ id }) => id?.endsWith(':interrupted') === true);
  const calls = lines.flatMap(({ content }) => content ?? []);
  return {
    interruptedCalls: [...new Set(interrupted.map(({ id }) => id ?? ''))],
    interruptedWork: interrupted.map(
      ({ callId }) => calls.find((part) => part.callId === callId && part.arguments !== undefined)?.arguments ?? '',
    ),
    notices,
    told,
    open: countOpen(home),
  };
}

interface Line {
  readonly id?: string;
  readonly kind: string;
  readonly turn: string | null;
  readonly role?: string;
  readonly callId?: string;
  readonly content?: readonly { readonly type: string; readonly callId?: string; readonly arguments?: string }[];
}

/** Reads from the files of a killed process where it stood; `happened` says whether a call's command left its trace. */
export function inspectWreck(
  home: string,
  outside: { modelBusy: boolean; happened: (command: string) => boolean },
): Wreck {
  const db = new DatabaseSync(join(home, 'state.db'), { readOnly: true });
  const lines = readTapes(join(home, 'sessions'));
  const steps: CrashStep[] = [];
  for (const _row of db.prepare("SELECT id FROM inbound WHERE state = 'accepted'").all()) steps.push('S0');
  for (const row of db.prepare("SELECT id FROM turns WHERE state = 'running'").all()) {
    const own = lines.filter((line) => line.turn === String(row['id']));
    steps.push(stepOf(own, outside.modelBusy, outside.happened));
  }
  const sending: string[] = [];
  const waiting = db.prepare(
    `SELECT parts.state, text FROM parts JOIN outbound ON outbound.id = parts.outbound_id
     WHERE parts.state IN ('pending', 'sending') AND outbound.state IN ('pending', 'sending', 'uncertain')`,
  );
  for (const row of waiting.all()) {
    steps.push(row['state'] === 'pending' ? 'S9' : 'S10');
    if (row['state'] === 'sending') sending.push(String(row['text']));
  }
  db.close();
  return { steps, sending };
}

function stepOf(lines: readonly Line[], modelBusy: boolean, happened: (command: string) => boolean): CrashStep {
  const last = lines.at(-1);
  if (last === undefined) return 'S1';
  if (last.kind === 'turn-end') return 'S8';
  if (last.kind === 'intent') {
    const calls = lines.flatMap((line) => line.content ?? []);
    const call = calls.find((part) => part.callId === last.callId);
    return happened(call?.arguments ?? '') ? 'S6' : 'S5';
  }
  if (last.role === 'assistant') return 'S4';
  if (modelBusy) return 'S3';
  return last.role === 'tool' ? 'S7' : 'S2';
}

function readTapes(folder: string): Line[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.jsonl'))
    .flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'))
    .flatMap((text) => {
      try {
        return [JSON.parse(text) as Line];
      } catch {
        return [];
      }
    });
}
