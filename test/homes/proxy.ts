import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

/** Stands between a gateway and PostgreSQL. */
export interface Proxy extends AsyncDisposable {
  /** The address of the database through it. */
  readonly url: string;
  /** How many connections it did not take. */
  readonly refused: number;
  /** How many answers to a committed transaction it kept to itself. */
  readonly kept: number;
  /** How many bytes the database answered. */
  readonly answered: number;
  /** How often this was in what gateways sent. */
  sent(text: string): number;
  /** From now on it closes a connection instead of passing on that its transaction was committed. */
  keepAnswers: boolean;
  /** Closes all connections and takes no more until `mend`. */
  cut(): void;
  /** Passes nothing on, in both directions, until `mend`; closes nothing. */
  stall(): void;
  /** Stalls right before a statement with this in it is passed on; resolves then. */
  stallBefore(text: string): Promise<void>;
  mend(): void;
}

const SOCKET = '.s.PGSQL.5432';
/** CommandComplete of COMMIT. */
const COMMITTED = Buffer.from('C\0\0\0\u000BCOMMIT\0', 'latin1');
/** BindComplete and the row of a fence that held, of which no description was asked; and ReadyForQuery outside of a transaction. */
const HELD = Buffer.from('2\0\0\0\u0004D', 'latin1');
const READY = Buffer.from('Z\0\0\0\u0005I', 'latin1');

const isCommitted = (data: Buffer): boolean =>
  data.includes(COMMITTED) || (data.includes(HELD) && data.subarray(-READY.length).equals(READY));

/** `url`: of a server's socket in a folder; `folder`: where the proxy makes its own. */
export async function startProxy(url: string, folder: string): Promise<Proxy> {
  const from = new URL(url.replace('@/', '@x/')).searchParams.get('host') ?? '';
  const open = new Set<Socket>();
  let [isCut, isStalled] = [false, false];
  const facts = { refused: 0, kept: 0, answered: 0, keepAnswers: false };
  let sent = '';
  let before: { readonly text: string; readonly met: () => void } | undefined;
  const stall = (): void => {
    isStalled = true;
    for (const one of open) one.pause();
  };
  const server = createServer((client) => {
    if (isCut) {
      facts.refused += 1;
      client.destroy();
      return;
    }
    const behind = connect(join(from, SOCKET));
    for (const one of [client, behind]) {
      open.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        open.delete(one);
        client.destroy();
        behind.destroy();
      });
    }
    client.on('data', (data: Buffer) => {
      sent += data.toString('latin1');
      const met = before !== undefined && data.includes(before.text) ? before.met : undefined;
      if (met === undefined) {
        behind.write(data);
        return;
      }
      before = undefined;
      stall();
      client.unshift(data);
      met();
    });
    behind.on('data', (data: Buffer) => {
      facts.answered += data.length;
      if (facts.keepAnswers && isCommitted(data)) {
        facts.kept += 1;
        client.destroy();
      } else {
        client.write(data);
      }
    });
    if (isStalled) for (const one of [client, behind]) one.pause();
  });
  await new Promise<void>((resolve) => server.listen(join(folder, SOCKET), resolve));
  return {
    url: url.replace(encodeURIComponent(from), encodeURIComponent(folder)),
    get refused() {
      return facts.refused;
    },
    get kept() {
      return facts.kept;
    },
    get answered() {
      return facts.answered;
    },
    sent: (text) => sent.split(text).length - 1,
    get keepAnswers() {
      return facts.keepAnswers;
    },
    set keepAnswers(value) {
      facts.keepAnswers = value;
    },
    cut: () => {
      isCut = true;
      for (const one of open) one.destroy();
    },
    stall,
    stallBefore: (text) => new Promise((met) => (before = { text, met })),
    mend: () => {
      isCut = false;
      isStalled = false;
      for (const one of open) one.resume();
    },
    [Symbol.asyncDispose]: async () => {
      for (const one of open) one.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
