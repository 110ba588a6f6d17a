import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
  type CallToolResult,
} from '@modelcontextprotocol/sdk/types.js';

/**
 * A server of the tests. Arguments: a JSON file with its tools, read at each listing (default: its own), and a file that
 * gets a line for each start.
 */
const [toolsFile = '', startsFile = ''] = process.argv.slice(2);
if (startsFile !== '') appendFileSync(startsFile, `${process.pid}\n`);

const server = new Server({ name: 'fixture', version: '1.2.3' }, { capabilities: { tools: { listChanged: true } } });

const tool = (name: string, description: string, properties: object = {}): object => ({
  name,
  description,
  inputSchema: { type: 'object', properties },
});
const OWN = [
  tool('echo', 'Says it again.', { text: { type: 'string' } }),
  tool('environment', 'Shows its environment.'),
  tool('die', 'Kills itself.'),
  tool('hang', 'Never answers.'),
  tool('freeze', 'Stops answering anything.'),
  tool('child', 'Starts a process that outlives it.'),
  tool('ask', 'Asks its user.'),
  tool('sample', 'Wants to use the model.'),
  tool('roots', 'Asks for the roots.'),
  tool('progress', 'Tells how far it is.'),
  tool('fail', 'Fails in its own words.'),
  tool('shout', 'Writes to standard error and says something wrong.'),
  tool('announce', 'Says that its tools are others now.'),
];

server.setRequestHandler(ListToolsRequestSchema, () => ({
  tools: toolsFile === '' ? OWN : JSON.parse(readFileSync(toolsFile, 'utf8')),
}));

const text = (value: string): CallToolResult => ({ content: [{ type: 'text', text: value }] });

server.setRequestHandler(CallToolRequestSchema, async ({ params }, extra): Promise<CallToolResult> => {
  switch (params.name) {
    case 'environment':
      return text(JSON.stringify(process.env));
    case 'die':
      process.kill(process.pid, 'SIGKILL');
      return await new Promise(() => {});
    case 'hang':
      return await new Promise((resolve) => {
        extra.signal.addEventListener('abort', () => {
          if (startsFile !== '') appendFileSync(startsFile, 'cancelled\n');
          resolve(text('cancelled'));
        });
      });
    case 'freeze':
      for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 60_000);
    case 'child': {
      const child = spawn('sleep', ['300'], { stdio: 'ignore', detached: true });
      child.unref();
      return text(String(child.pid));
    }
    case 'ask': {
      const pauseMs = Number(params.arguments?.['pauseMs'] ?? 0);
      await setTimeout(pauseMs);
      const { action, content } = await server.elicitInput({
        message: 'How many?',
        requestedSchema: {
          type: 'object',
          properties: {
            count: { type: 'number', default: 3 },
            ...(params.arguments?.['bare'] === true ? { name: { type: 'string' as const } } : {}),
          },
          required: ['count', ...(params.arguments?.['bare'] === true ? ['name'] : [])],
        },
      });
      await setTimeout(pauseMs);
      return text(`${action} ${JSON.stringify(content ?? null)}`);
    }
    case 'sample': {
      const answer = await server
        .createMessage({ messages: [], maxTokens: 10 })
        .catch((error: unknown) => `refused: ${String(error)}`);
      return text(typeof answer === 'string' ? answer : 'sampled');
    }
    case 'roots':
      return text(JSON.stringify(await server.request({ method: 'roots/list' }, ListRootsResultSchema)));
    case 'progress':
      for (const progress of [1, 2]) {
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken: extra._meta?.progressToken ?? 0, progress, total: 2, message: 'counting' },
        });
      }
      // Once the client answers this it has read what came before.
      await server.ping();
      return text('done');
    case 'fail':
      return { ...text('the disk of the server is full'), isError: true };
    case 'shout':
      process.stderr.write('shouting sk-very-secret-value\n');
      process.stdout.write('this is no message\n');
      return text('shouted');
    case 'announce':
      await server.sendToolListChanged();
      return text('announced');
    default:
      return text(`${params.name} ${JSON.stringify(params.arguments ?? {})}`);
  }
});

await server.connect(new StdioServerTransport());
