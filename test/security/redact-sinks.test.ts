import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { homePaths } from '../../src/core/config/home.ts';
import { connectAssistant } from '../../src/core/gateway/control.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import { startServer } from '../support/http.ts';
import { recordingLog, type LogLine } from '../support/recording-log.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../support/world.ts';
import { word } from './redact-samples.ts';
import { say } from '../support/say.ts';

const SECRETS = { configured: 'canary-configured-9c2e51b7d0f4a86e', token: `ghp_${word(36)}` };
const NOTE = 'note.txt';

/** A world whose configuration holds the first secret, with all that leaves it. */
async function place(
  configured = SECRETS.configured,
): Promise<World & { readonly lines: LogLine[]; readonly events: unknown[] }> {
  const log = recordingLog();
  const events: unknown[] = [];
  const world = await startWorld({
    log,
    config: {
      providers: { other: { kind: 'openai', apiKey: configured, baseUrl: 'http://127.0.0.1:9/v1' } },
      tools: { exec: { mode: 'full', sandbox: 'off' }, web: { allowHosts: ['127.0.0.1'] } },
    },
  });
  return Object.assign(world, { lines: log.lines, events });
}

const says = async (world: World, text: string): Promise<void> => {
  const before = chatOf(world).length;
  world.telegram.userSays(OWNER, text);
  await waitFor(() => chatOf(world).length > before, { what: 'a reply' });
};
const calls = (name: string, args: Readonly<Record<string, unknown>>): object => ({
  calls: [{ name, arguments: args }],
});
const note = (world: World, secret: string): Promise<void> =>
  writeFile(join(world.workspace, NOTE), `The key:\n${secret}\nand no more.\n`);

type Way = (world: Awaited<ReturnType<typeof place>>, secret: string) => Promise<unknown>;

const WAYS: Readonly<Record<string, Way>> = {
  'the words of a person': async (world, secret) => {
    world.model.reply('Noted.');
    await says(world, `My key is ${secret}, keep it.`);
  },
  'a file that is read': async (world, secret) => {
    await note(world, secret);
    world.model.reply(calls('read_file', { path: NOTE }), 'Read.');
    await says(world, 'read it');
  },
  'the output of a command': async (world, secret) => {
    await note(world, secret);
    world.model.reply(calls('exec', { command: `cat ${NOTE}; cat ${NOTE} >&2; env; exit 3` }), 'Ran.');
    await says(world, 'run it');
  },
  'the output of a command, in base64': async (world, secret) => {
    await note(world, secret);
    world.model.reply(calls('exec', { command: `base64 -w 0 ${NOTE}` }), 'Ran.');
    await says(world, 'run it');
  },
  'a long output that is kept in a file': async (world, secret) => {
    await note(world, secret);
    const command = `for i in $(seq 400); do cat ${NOTE}; echo some more text to make it long; done`;
    world.model.reply(calls('exec', { command }), 'Ran.');
    await says(world, 'run it');
  },
  'a page': async (world, secret) => {
    const server = await startServer((_request, response) => {
      void response.writeHead(200, { 'content-type': 'text/html' }).end(`<p>Their key is <b>${secret}</b>.</p>`);
    });
    world.model.reply(calls('web_fetch', { url: `${server.url}/` }), 'Fetched.');
    await says(world, 'fetch it');
    await server.close();
  },
  'an error of the model server': async (world, secret) => {
    world.model.reply({ error: { status: 402, message: `Something is wrong with ${secret} here` } });
    await says(world, 'hello');
    world.model.reply({ error: { status: 401, message: `Incorrect API key provided: ${secret}` } });
    await says(world, 'hello');
  },
  'the answer of a model': async (world, secret) => {
    const text = `I think that it is ${secret} indeed.`;
    world.model.reply({ text, reasoning: `Is it ${secret}?`, chunkSize: 1 }, { text, chunkSize: 5 });
    await says(world, 'what is it?');
    const stream = world.assistant.stream('what is it?');
    for await (const event of stream) world.events.push(event);
    expect(JSON.stringify(world.events)).toContain('[redacted');
  },
  'an answer of a model, in pieces of any size': async (world, secret) => {
    const text = `Is ${secret} what you mean? Or ${secret}?`;
    for (const chunkSize of [2, 7, 30]) {
      world.model.reply({ text, reasoning: text, chunkSize });
      for await (const event of world.assistant.stream('what is it?')) world.events.push(event);
    }
  },
  'the arguments of a call': async (world, secret) => {
    world.model.reply(calls('write_file', { path: 'made.txt', content: `key=${secret}` }), 'Written.');
    await says(world, 'write it');
  },
  'the name of a file': async (world, secret) => {
    await writeFile(join(world.workspace, NOTE), 'x');
    world.model.reply(calls('read_file', { path: `no-${secret}.txt` }), 'Not there.');
    await says(world, 'read it');
  },
  'a command by hand': async (world, secret) => {
    await note(world, secret);
    await says(world, `,read_file ${NOTE}`);
    await says(world, `,read_file ${'a'.repeat(440)} and ${secret}-${secret}`);
    // Other texts are no commands and go to the model.
    if (/^\w+$/u.test(secret)) await says(world, `/${secret}`);
  },
  'a fact by hand': async (world, secret) => {
    await says(world, `,memory_write fact="The key is ${secret}" section=Keys`);
    world.model.reply('Hello.');
    await says(world, 'hi');
  },
  'the memory that the owner wrote': async (world, secret) => {
    await mkdir(join(world.workspace, 'memory'), { recursive: true });
    await writeFile(join(world.workspace, 'USER.md'), `My key is ${secret}\n`);
    world.model.reply('Hello.', 'Hello.');
    await says(world, 'hi');
    await says(world, '/context');
    await says(world, 'hi');
    await world.assistant.call('prompt', { session: `telegram:${OWNER}` }).then((report) => world.events.push(report));
  },
  'a summary by hand': async (world, secret) => {
    world.model.reply('Hello.', 'Hello.');
    await says(world, 'hi');
    await says(world, `/tape handoff We spoke of ${secret}.`);
    await says(world, 'hi');
  },
  'what a model wants to remember': async (world, secret) => {
    world.model.reply('Hello.');
    await says(world, 'hi');
    world.model.setAside(() => ({
      calls: [
        {
          name: 'save_memory',
          arguments: {
            history_entry: `They spoke of ${secret}.`,
            memory_update: `# Memory\n\n- The key is ${secret}.\n`,
          },
        },
      ],
    }));
    await says(world, '/mem');
    const memory = join(world.workspace, 'memory');
    await waitFor(
      async () => (await readFile(join(memory, 'MEMORY.md'), 'utf8').catch(() => '')).includes('The key is'),
      {
        what: 'the memory is written',
      },
    );
    expect(await readFile(join(memory, 'HISTORY.md'), 'utf8')).toContain('[redacted');
  },
  'a message that a tool sends': async (world, secret) => {
    world.model.reply(calls('message', { text: `It is ${secret}` }), 'Sent.');
    await says(world, 'tell me');
  },
};

const json = (text: string): string => JSON.stringify(text).slice(1, -1);
const ENCODINGS: Readonly<Record<string, (secret: string) => string>> = {
  'as it is': (secret) => secret,
  'in a URL': encodeURIComponent,
  'in a form': (secret) => encodeURIComponent(secret).replaceAll('%20', '+'),
  'in JSON': json,
  'in base64': (secret) => Buffer.from(secret).toString('base64'),
  'in base64, behind one byte': (secret) => Buffer.from(`x${secret}`).toString('base64'),
  'in base64, behind two bytes': (secret) => Buffer.from(`xy${secret}z`).toString('base64url'),
};

/** Pieces of a secret in any encoding: none of them may be anywhere. A token that was not configured is found only as it is. */
function pieces(secret: string, isToken: boolean): readonly string[] {
  const written = isToken ? [secret] : [secret, encodeURIComponent(secret), json(secret), json(json(secret))];
  const coded = [0, 1, 2].map((shift) => {
    const text = Buffer.from(`${'x'.repeat(shift)}${secret}`).toString('base64');
    return text.slice(shift + 2, text.length - 4);
  });
  return [...written.flatMap((one) => [one.slice(4, 16), one.slice(-12)]), ...(isToken ? [] : coded)];
}

/** Rows of the journal but those of the inbox, which keeps what people wrote as they wrote it. */
function rowsOf(path: string): string {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'inbound'").all();
    return JSON.stringify(tables.map(({ name }) => db.prepare(`SELECT * FROM "${String(name)}"`).all()));
  } finally {
    db.close();
  }
}

async function leaks(
  world: Awaited<ReturnType<typeof place>>,
  secret: string,
  isToken = secret === SECRETS.token,
): Promise<readonly string[]> {
  const { home, model, telegram, lines, events } = world;
  const found = (text: string): boolean => pieces(secret, isToken).some((piece) => text.includes(piece));
  const places: Record<string, string> = {
    'the journal': rowsOf(join(home, 'state.db')),
    'the log': JSON.stringify(lines),
    'what watches a turn': JSON.stringify(events),
    'a request to the model': JSON.stringify([...model.requests, ...model.asides].map(({ body }) => body)),
    'a call of the Bot API': JSON.stringify(telegram.calls.filter(({ method }) => method !== 'getUpdates')),
  };
  for (const entry of await readdir(home, { recursive: true, withFileTypes: true })) {
    const path = relative(home, join(entry.parentPath, entry.name));
    if (!entry.isFile() || /state\.db|config\.json|USER\.md|note\.txt$/.test(path)) continue;
    // It says what ran, word for word: only what was configured is missing there.
    if (path === 'audit.jsonl' && isToken) continue;
    places[path] = await readFile(join(home, path), 'latin1').catch(() => '');
  }
  return Object.entries(places).flatMap(([name, text]) => (found(text) ? [name] : []));
}

/** Letters and digits, and what URLs, JSON and shells write in another way. */
const configured = fc
  .tuple(
    fc.stringMatching(/^[A-Za-z0-9]{12,20}$/u),
    fc.stringMatching(/^[ "&+/=%\\äß日$'-]{0,4}$/u),
    fc.stringMatching(/^[A-Za-z0-9]{12,20}$/u),
  )
  .map((parts) => parts.join(''));
const token = fc.stringMatching(/^ghp_[A-Za-z][0-9][A-Za-z0-9]{34}$/u).filter((text) => new Set(text).size > 12);
const encodings = fc.array(fc.constantFrom(...Object.keys(ENCODINGS)), { minLength: Object.keys(WAYS).length });

describe('a secret that comes in by any way', () => {
  test.each(['configured', 'token'])(
    'in any encoding is found nowhere (%s)',
    async (kind) => {
      const isToken = kind === 'token';
      const property = fc.asyncProperty(isToken ? token : configured, encodings, async (secret, codes) => {
        await using world = await place(isToken ? SECRETS.configured : secret);
        for (const [n, [way, comeIn]] of Object.entries(WAYS).entries()) {
          const encoding = isToken ? 'as it is' : (codes[n] ?? 'as it is');
          await comeIn(world, ENCODINGS[encoding]?.(secret) ?? secret);
          expect(await leaks(world, secret, isToken), `${way}, ${encoding}`).toEqual([]);
        }
        // The model's own server still gets its key.
        expect(JSON.stringify(world.model.requests[0]?.headers)).toContain(MODEL_KEY);
      });
      await fc.assert(property, { numRuns: 2, endOnFailure: true });
    },
    360_000,
  );
});

describe.each(Object.entries(SECRETS))('a secret (%s)', (_kind, secret) => {
  test('that comes in by whatever way does not come out at the control socket', async () => {
    await using world = await place();
    await note(world, secret);
    await mkdir(join(world.workspace, 'memory'), { recursive: true });
    await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), `- It is ${secret}\n`);
    const remote = await connectAssistant(homePaths(world.home).socket, systemClock);
    if (remote === undefined) throw new Error('nobody listens');
    world.model.reply({ text: `Now ${secret} again`, chunkSize: 1 });
    const heard: unknown[] = [];
    heard.push(
      await say(remote, `say ${secret}`, { onEvent: (event) => heard.push(event) }),
      await remote.call('toolRun', { name: 'read_file', arguments: `{"path":"${NOTE}"}`, dryRun: false }),
      await remote.call('toolRun', { name: 'read_file', arguments: `{"path":"/${secret}"}`, dryRun: true }),
      await remote.call('toolRun', { name: secret, arguments: '{}', dryRun: false }),
      await remote.call('memoryShow', {}),
      await remote.call('prompt', { session: 'terminal:main' }),
      await remote.call('memoryShow', { id: secret }).catch(String),
      await remote.call('approvalsForget', { id: secret }).catch(String),
    );
    if (secret === SECRETS.configured) heard.push(await remote.call('audit', { count: 50, asked: false, about: '' }));
    expect(pieces(secret, secret === SECRETS.token).filter((piece) => JSON.stringify(heard).includes(piece))).toEqual(
      [],
    );
    expect(JSON.stringify(heard)).toContain('Now [redacted');
  });

  test('in a command is in the question whether it may run only if it was not configured: that is what will run', async () => {
    await using world = await startWorld({
      config: {
        providers: { other: { kind: 'openai', apiKey: SECRETS.configured, baseUrl: 'http://127.0.0.1:9/v1' } },
        tools: { exec: { mode: 'ask', sandbox: 'off' } },
      },
    });
    const lines: LogLine[] = [];
    world.telegram.userSays(OWNER, `,exec echo ${secret}`);
    await waitFor(() => chatOf(world).some((text) => text.includes('/approve ')), { what: 'a question' });
    const question = chatOf(world).find((text) => text.includes('/approve ')) ?? '';
    if (secret === SECRETS.configured) {
      expect(await leaks(Object.assign(world, { lines, events: [] }), secret)).toEqual([]);
      expect(question).toContain('echo [redacted]');
      expect(question).toContain('It holds a configured secret, which is shown here as [redacted].');
    } else {
      expect(question).toContain(`echo ${secret}`);
    }
    await says(world, '/stop');
  });
});
