import { describe, expect, test } from 'vitest';
import { heartbeatQuestions } from '../../src/extensions/heartbeat/questions.ts';
import { SideCalls } from '../../src/core/agent/side-calls/side-calls.ts';
import type { App } from '../../src/core/app.ts';
import { consolidationPrompt } from '../../src/core/agent/consolidation/question.ts';
import type { ModelEvent, Provider, ToolSpec } from '../../src/core/providers/provider.ts';
import { toJsonSchema } from '../../src/core/tools/json-schema.ts';
import { systemClock } from '../../src/core/util/clock.ts';
import { appWith } from '../support/app-with.ts';
import { textFaults } from '../support/text-faults.ts';
import { waitFor } from '../support/wait.ts';
import { startWorld } from '../support/world.ts';

/** A server with a tool, resources and prompts of its own, and a tool that it says nothing of. */
const SERVER = `
  import { McpServer } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/mcp.js'))};
  import { StdioServerTransport } from ${JSON.stringify(import.meta.resolve('@modelcontextprotocol/sdk/server/stdio.js'))};
  import * as z from ${JSON.stringify(import.meta.resolve('zod'))};
  const server = new McpServer({ name: 'birds', version: '1.0.0' });
  const name = z.string().describe('Name of the bird in English, e.g. wood pigeon.');
  const answer = async () => ({ content: [{ type: 'text', text: 'coo' }] });
  const description = 'Tell how a bird sings. Use it when the person asks about the voice of a bird that they name.';
  server.registerTool('song', { description, inputSchema: { name } }, answer);
  server.registerTool('mute', {}, answer);
  server.registerResource('list', 'birds://all', {}, async () => ({ contents: [] }));
  server.registerPrompt('watch', {}, async () => ({ messages: [] }));
  await server.connect(new StdioServerTransport());
`;
const mcpServers = { birds: { command: process.execPath, args: ['--input-type=module', '-e', SERVER] } };

describe('every tool that the registry of a whole assistant lists', () => {
  test('is described, with each field, in sentences that a reader understands who sees nothing else', async () => {
    await using world = await startWorld({ config: { mcpServers } });
    const listed = async (): Promise<readonly string[]> =>
      (await world.assistant.call('toolsList', {})).map(({ name }) => name);
    await waitFor(async () => (await listed()).includes('mcp_birds_song'), { what: 'the tools of the server' });
    const names = await listed();
    // What is switched on by the configuration is there, so that none of it goes unread.
    const optional = [
      'process',
      'cron',
      'spawn',
      'memory_write',
      'skill',
      'ask_user',
      'message',
      'batch',
      'stay_silent',
    ];
    const foreign = ['mcp_birds_song', 'mcp_birds_mute', 'mcp_birds_read_resource', 'mcp_birds_get_prompt'];
    expect(names).toEqual(expect.arrayContaining([...optional, ...foreign]));
    expect(textFaults(await world.assistant.call('toolsList', {}))).toEqual([]);
  });
});

describe('every tool that a model answers a question of the program with', () => {
  test('is described in the same way: those of the memory and of the heartbeat', async () => {
    const memory = ['- a fact', null].map((text) =>
      consolidationPrompt({ memory: text, turns: [], note: null, mostPerTurn: 1_000 }),
    );
    const ofMemory = memory.map(({ name, description, schema }) => ({
      name,
      description,
      parameters: toJsonSchema(schema),
    }));
    const ofHeartbeat: ToolSpec[] = [];
    const provider: Provider = {
      name: 'test',
      async *chat({ tools }): AsyncIterable<ModelEvent> {
        ofHeartbeat.push(...tools);
        yield { type: 'error', kind: 'auth', retryable: false, message: 'not here' };
      },
    };
    const app = appWith({
      budget: { refusal: async () => null, record: async () => {} } as unknown as App['budget'],
      models: { resolve: () => ({ provider, providerName: 'test', model: 'test' }) } as unknown as App['models'],
      journal: { settings: { model: () => null } } as unknown as App['journal'],
      settingsOf: (() => ({ model: null })) as unknown as App['settingsOf'],
      redact: (text) => text,
      clock: systemClock,
    });
    const questions = heartbeatQuestions(app, new SideCalls(app, 'heartbeat'), new AbortController().signal);
    await questions.look({ at: 0, tasks: '- [ ] water the plants', now: 'noon', before: null });
    await questions.judge({ at: 0, tasks: 'water the plants', result: 'done' });
    expect([...ofMemory, ...ofHeartbeat].map(({ name }) => name)).toEqual([
      'save_memory',
      'save_memory',
      'heartbeat',
      'evaluate_notification',
    ]);
    expect(textFaults([...ofMemory, ...ofHeartbeat])).toEqual([]);
  });
});

describe('texts that do not stand alone are found', () => {
  const good = {
    name: 'find_bird',
    description: 'Find a bird by its song and return its name with a picture. Use it when the person describes a song.',
    parameters: {
      type: 'object',
      properties: {
        place: { type: 'string', description: 'Where the bird was heard, e.g. Graz. Default: anywhere.' },
        songs: {
          type: 'array',
          items: {
            type: 'object',
            properties: { notes: { type: 'string', description: 'The notes as heard, e.g. c d e.' } },
            required: ['notes'],
          },
          description: 'The songs, in the order in which they were heard.',
        },
      },
      required: ['songs'],
    },
  };
  const withField = (field: object): typeof good => {
    const { parameters } = good;
    return { ...good, parameters: { ...parameters, properties: { ...parameters.properties, ...field } } };
  };
  const place = (description: string, more: object = {}): typeof good =>
    withField({ place: { type: 'string', description, ...more } });

  test('sentences that do are not', () => {
    expect(textFaults([good])).toEqual([]);
  });

  test.each([
    ['a riddle', place('Where.'), 'riddle'],
    ['no sentence', place('the place of the bird, e.g. Graz. Default: anywhere.'), 'capital'],
    ['an open end', place('Where the bird was heard, e.g. Graz. Default: anywhere'), 'full stop'],
    ['nothing at all', withField({ place: { type: 'string' } }), 'no description'],
    ['no word on what happens without it', place('Where the bird was heard, e.g. Graz.'), 'without it'],
    ['a form without an example', place('Code of the country by ISO 3166. Default: any.'), 'example'],
    ['an unexplained choice', place('One of east for the east. Default: east.', { enum: ['east', 'west'] }), '"west"'],
    ['an unnamed default', place('Where it was heard, e.g. Graz. Default: here.', { default: 'Wien' }), 'its default'],
    ['a private word', place('Where the taint was seen, e.g. Graz. Default: anywhere.'), 'taint'],
    [
      'an item without a description',
      withField({
        songs: { ...good.parameters.properties.songs, items: { type: 'object', properties: { notes: {} } } },
      }),
      'songs[].notes: has no description',
    ],
    [
      'a member of a union without a description',
      place('Where the bird was heard, e.g. Graz. Default: anywhere.', {
        anyOf: [{ type: 'string' }, { type: 'object', properties: { town: {} } }],
      }),
      'place.town: has no description',
    ],
    [
      'words that are said of another field too',
      withField({ town: { type: 'string', description: good.parameters.properties.place.description } }),
      'the same words',
    ],
    ['a tool that is named only', { ...good, description: 'Find birds.' }, 'find_bird: is a riddle'],
    [
      'a tool without guidance',
      { ...good, description: good.description.replace('Use it when', 'Sometimes') },
      'when to use',
    ],
  ])('%s', (_what, tool, fault) => {
    expect(textFaults([tool]).join('\n')).toContain(fault);
  });
});
