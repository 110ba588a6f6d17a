import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import * as z from 'zod';

/** The package whose code is another one in each version. */
export const CHANGING = 'changing';

/** What the versions tell of themselves; they run in this process. */
export interface Versions {
  /** Models that were asked, by version; each waits until `open` resolves. */
  readonly asked: number[];
  open: Promise<void>;
  /** The versions that loaded and saved the state of one turn. */
  readonly states: (readonly [loaded: number, saved: number])[];
  /** Versions at the end of turns. */
  readonly ended: number[];
}

declare global {
  // oxlint-disable-next-line no-var -- how a variable of the process is declared
  var changingVersions: Versions | undefined;
}

export function followVersions(): Versions {
  return (globalThis.changingVersions = { asked: [], open: Promise.resolve(), states: [], ended: [] });
}

/**
 * Writes a version of a plugin that brings one of everything. Each part says its version, as in `tool=3`, and a whole answer
 * holds that of each part which had to do with it.
 */
export async function putVersion(home: string, version: number): Promise<void> {
  const folder = join(home, 'plugins', CHANGING);
  await mkdir(join(folder, 'skills', 'age'), { recursive: true });
  const files = {
    'package.json': JSON.stringify({
      name: CHANGING,
      version: `1.0.${version}`,
      type: 'module',
      assistant: { plugin: './index.js' },
    }),
    'version.js': `export const V = ${version};\n// ${'x'.repeat(20_000)}`,
    'index.js': CODE,
    'skills/age/SKILL.md': `---\nname: age\ndescription: Says how old it is, skill=${version}.\n---\n\nIt is old.\n`,
  };
  for (const [name, text] of Object.entries(files)) {
    await writeFile(join(folder, `${name}.new`), text);
    await rename(join(folder, `${name}.new`), join(folder, name));
  }
}

const CODE = `
import { connect } from 'node:net';
import { defineTool, z } from 'assistantd';
import { V } from './version.js';

const here = () => globalThis.changingVersions;

const tool = defineTool({
  name: 'tell_version',
  description: 'Tells the version=' + V + ' of the plugin.',
  effect: 'none',
  parameters: z.object({}),
  execute: async () => ({ title: 'told the version', output: 'tool=' + V, metadata: {} }),
});

/** What an opened thing holds, so that one that is kept for good is seen. */
const weight = () => new Array(100_000).fill(V);

const provider = {
  kind: 'changing',
  open: () => ({
    weight: weight(),
    async *chat(request) {
      const last = request.messages.at(-1);
      if (last.role !== 'tool') {
        here().asked.push(V);
        await here().open;
        const call = { id: 'c1', name: 'tell_version', arguments: '{}' };
        yield { type: 'tool-call', index: 0, call };
        const response = { content: [{ type: 'tool-call', ...call }], model: request.model, usage: null };
        yield { type: 'end', stopReason: 'tool-calls', response };
        return;
      }
      const asked = request.messages.findLast(({ role }) => role === 'user');
      const admitted = /admit=\\d+/.exec(asked.content.map((part) => part.text ?? '').join(' '))?.[0];
      const layer = /layer=\\d+/.exec(request.system.join(' '))?.[0];
      const spec = /version=(\\d+)/.exec(request.tools.find(({ name }) => name === 'tell_version').description)?.[0];
      const system = request.system.join(' ');
      const more = asked.content.some((part) => part.text?.includes('all of it')) ? [/skill=\\d+/.exec(system)?.[0]] : [];
      const shows = /shows=\\d+/.exec(system)?.[0] ?? '';
      const text = ['provider=' + V, admitted, layer, spec, last.output, shows, ...more].join(' ');
      yield { type: 'text-delta', text };
      yield { type: 'end', stopReason: 'stop', response: { content: [{ type: 'text', text }], model: request.model, usage: null } };
    },
  }),
};

const hooks = {
  admit: (message) => ({ type: 'replace', value: { ...message, text: message.text + ' admit=' + V } }),
  loadState: () => ({ changing: V }),
  prompt: (_turn, layers) => [...layers, 'layer=' + V],
  async *runModel(_turn, request, next) {
    for await (const event of next(request)) yield event;
  },
  afterTool: (_turn, _call, result) => ({ type: 'replace', value: { ...result, output: result.output + ' after=' + V } }),
  render: (_turn, text) => ({ type: 'replace', value: text + ' render=' + V }),
  dispatch: (_turn, message) => ({ type: 'replace', value: { ...message, text: message.text + ' dispatch=' + V } }),
  saveState: (_turn, state) => void here().states.push([state.changing, V]),
  turnEnd: () => void here().ended.push(V),
};

/** A line of JSON for each message, over one connection. */
class Wire {
  kind = 'changing-wire';
  capabilities = { maxLength: 2000, edit: false, typing: false, buttons: false, threads: false, media: false, reactions: false, drafts: false };
  #socket;
  weight = weight();
  constructor(name, port, kit) {
    Object.assign(this, { name, port, kit });
  }
  async start(context) {
    const socket = connect(this.port, '127.0.0.1');
    await new Promise((resolve, reject) => socket.once('connect', resolve).once('error', reject));
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk) => {
      const lines = (text + chunk).split('\\n');
      text = lines.pop();
      for (const line of lines) void this.#take(JSON.parse(line), context);
    });
    socket.on('error', () => {});
    const beat = setInterval(() => socket.write('{"beat":' + V + '}\\n'), 1000);
    this.#socket = socket;
    socket.write(JSON.stringify({ hello: V }) + '\\n');
    return {
      [Symbol.asyncDispose]: async () => {
        clearInterval(beat);
        this.#socket = undefined;
        socket.end();
      },
    };
  }
  async #take({ id, from, text }, context) {
    await context.accept([{
      channel: this.name, account: 'wire', chatId: from, chatType: 'direct', sender: { id: from, isBot: false }, role: 'owner',
      text, media: [], mentioned: true, context: [], receivedAt: context.clock.now(), externalId: 'm:' + id, origin: 'user',
      untrusted: false, metadata: {},
    }]);
    this.#socket?.write(JSON.stringify({ taken: id }) + '\\n');
  }
  render(markdown) {
    return this.kit.plainParts(markdown, 2000);
  }
  async send(part) {
    if (this.#socket === undefined) throw new this.kit.SendError('retryable', 'it is closed');
    this.#socket.write(JSON.stringify({ to: part.chatId, text: part.text }) + '\\n');
    return { platformId: part.nonce };
  }
  health() {
    return { state: this.#socket === undefined ? 'stopped' : 'running' };
  }
}

export default {
  name: 'Changing',
  tools: [tool],
  providers: [provider],
  hooks,
  skills: './skills',
  commands: [{ name: 'age', description: 'tells version=' + V, role: 'owner', run: () => 'command=' + V }],
  routes: [{ method: 'GET', path: '/age', handle: () => new Response('route=' + V) }],
  channels: [{
    kind: 'changing-wire',
    shows: 'Write to the wire, shows=' + V + '.',
    open: (name, settings, kit) => new Wire(name, settings.port, kit),
  }],
};
`;

const fromPlugin = z.object({
  hello: z.number().optional(),
  taken: z.string().optional(),
  to: z.string().optional(),
  text: z.string().optional(),
});

/** The platform behind the channel of the plugin. */
export interface WirePlatform extends AsyncDisposable {
  readonly port: number;
  /** Versions of channels in the order in which they connected. */
  readonly greeted: readonly number[];
  /** Texts that were sent to people. */
  readonly sent: readonly string[];
  /** Connections that are open. */
  readonly open: number;
  /** A message of somebody, given again until a channel has taken it. */
  says(id: string, text: string): void;
}

export async function startWirePlatform(): Promise<WirePlatform> {
  const sockets = new Set<Socket>();
  const greeted: number[] = [];
  const sent: string[] = [];
  const waiting = new Map<string, string>();
  const give = (): void => {
    const [socket] = [...sockets].slice(-1);
    for (const line of waiting.values()) socket?.write(line);
  };
  const read = (line: string): void => {
    const { hello, taken, text } = fromPlugin.parse(JSON.parse(line));
    if (taken !== undefined) waiting.delete(taken);
    if (text !== undefined) sent.push(text);
    if (hello === undefined) return;
    greeted.push(hello);
    give();
  };
  const server = createServer((socket) => {
    sockets.add(socket);
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (text + chunk).split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) read(line);
    });
    socket.on('error', () => {});
    socket.on('close', () => sockets.delete(socket));
    socket.on('end', () => socket.end());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    greeted,
    sent,
    get open() {
      return sockets.size;
    },
    says: (id, text) => {
      waiting.set(id, `${JSON.stringify({ id, from: 'ann', text })}\n`);
      give();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
