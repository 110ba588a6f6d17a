import type { Role } from '../../src/core/bus/messages.ts';
import { pageClient, type Followed, type PageClient } from '../gateway/http/page-client.ts';
import { apiOf, type ApiWorld } from './api-world.ts';
import type { DiscordPerson } from './discord-chats.ts';
import { somebody } from './discord-world.ts';
import type { ModelApiRequest, ScriptedCall, Step } from './model-script.ts';
import { CHAT } from './three-people.ts';
import { startEverywhere, type Everywhere } from './three-platforms.ts';
import { waitFor } from './wait.ts';
import { chatOf, type World } from './world.ts';
import { say } from './say.ts';

const GROUPS = { one: -100, two: -200 } as const;
const SECRET = 'a-secret-of-the-webhook-01';

/** Somebody in some chat, who tells things and looks for what others told. */
export interface Place {
  readonly name: string;
  /** The chat to which it belongs: what is told in a chat is known to all of it. */
  readonly chat: string;
  /** The owner, alone with the assistant: there everything is found. */
  readonly isPrivate: boolean;
  /** It takes chat commands. */
  readonly takesCommands: boolean;
  /** Has a turn in which this is said. */
  readonly says: (world: ScopeWorld, text: string) => Promise<unknown>;
  /** What the people there see, oldest first. */
  readonly heard: (world: ScopeWorld) => readonly string[] | Promise<readonly string[]>;
}

export interface ScopeWorld extends AsyncDisposable {
  readonly everywhere: Everywhere;
  readonly world: World;
  readonly api: ApiWorld;
  readonly page: PageClient;
  /** What the page is told. */
  readonly followed: Followed;
  /** What programs were answered, and what the terminal shows. */
  readonly answers: Map<string, string[]>;
}

/** An assistant on several platforms with an owner, somebody whom it trusts, and guests. */
export async function startScopes(): Promise<ScopeWorld> {
  const telegram = { allowFrom: ['42', '43', '*'], owners: ['42'], groups: { debounceMs: 0 } };
  const everywhere = await startEverywhere({
    config: {
      channels: { telegram, discord: { allowFrom: ['4242', '888', '*'] } },
      hooks: { door: { secret: SECRET, template: '{{text}}' } },
      tools: { guest: ['memory_search', 'memory_write', 'tape', 'read_file', 'grep', 'list_dir'] },
    },
  });
  const { world } = everywhere;
  const page = await pageClient(world);
  const followed = await page.follow();
  return {
    everywhere,
    world,
    api: await apiOf(world),
    page,
    followed,
    answers: new Map(),
    [Symbol.asyncDispose]: async () => {
      followed[Symbol.dispose]();
      await everywhere[Symbol.asyncDispose]();
    },
  };
}

const telegramPlace = (role: Role): Place => ({
  name: `${role} on telegram`,
  chat: `telegram ${CHAT[role]}`,
  isPrivate: role === 'owner',
  takesCommands: true,
  says: async ({ world }, text) => void world.telegram.userSays(CHAT[role], text),
  heard: ({ world }) => chatOf(world, CHAT[role]),
});

const groupPlace = (role: Role, group: keyof typeof GROUPS): Place => ({
  name: `${role} in group ${group}`,
  chat: `group ${group}`,
  isPrivate: false,
  takesCommands: true,
  says: async ({ world }, text) => {
    const [command] = /^\/\w+/u.exec(text) ?? [];
    const said = command === undefined ? `@test_bot ${text}` : text.replace(command, `${command}@test_bot`);
    const length = command === undefined ? 9 : command.length + 9;
    const type = command === undefined ? 'mention' : 'bot_command';
    world.telegram.userSays(GROUPS[group], said, {
      entities: [{ type, offset: 0, length }],
      from: { id: CHAT[role] },
    });
  },
  heard: ({ world }) => chatOf(world, GROUPS[group]),
});

const discordPlace = (role: Role, person: DiscordPerson): Place => ({
  name: `${role} on discord`,
  chat: `discord ${role}`,
  isPrivate: false,
  takesCommands: true,
  says: async ({ everywhere: { discord } }, text) => void discord.sends(discord.direct(person), person, text),
  heard: ({ everywhere: { discord } }) => discord.sent(discord.direct(person)).map((post) => post.visible),
});

/** Work that a turn of another place has the assistant do by itself; what it says is said by the program. */
const workPlace = (of: Place, kind: 'subagent' | 'job'): Place => ({
  ...of,
  name: `${kind} of ${of.name}`,
  takesCommands: false,
  says: (world, text) => of.says(world, `${kind.toUpperCase()} ${text}`),
});

const answered =
  (name: string): Place['heard'] =>
  ({ answers }) =>
    answers.get(name) ?? [];

function note({ answers }: ScopeWorld, name: string, text: string): void {
  answers.set(name, [...(answers.get(name) ?? []), text]);
}

const apiPlace = (name: string, session: string | null): Place => ({
  name,
  chat: name,
  isPrivate: true,
  takesCommands: false,
  says: async (world, text) => {
    const body = { model: 'assistant', messages: [{ role: 'user', content: text }] };
    const headers = session === null ? undefined : { 'X-Assistant-Session': session };
    note(world, name, await (await world.api.post('/v1/chat/completions', body, headers)).text());
  },
  heard: answered(name),
});

const OWNER = telegramPlace('owner');
const TRUSTED = telegramPlace('trusted');
const OWNER_IN_GROUP = groupPlace('owner', 'one');

/** Everybody in every kind of chat. */
export const PLACES: readonly Place[] = [
  OWNER,
  TRUSTED,
  telegramPlace('guest'),
  OWNER_IN_GROUP,
  groupPlace('trusted', 'one'),
  groupPlace('guest', 'one'),
  groupPlace('owner', 'two'),
  groupPlace('guest', 'two'),
  {
    name: 'owner on discord',
    chat: 'discord owner',
    isPrivate: true,
    takesCommands: true,
    says: async ({ everywhere }, text) => everywhere.sends('discord', text),
    heard: ({ everywhere }) => everywhere.texts('discord'),
  },
  discordPlace('trusted', somebody('Tess', { id: '888' })),
  discordPlace('guest', somebody('Stanley', { id: '777' })),
  {
    name: 'terminal',
    chat: 'terminal',
    isPrivate: true,
    takesCommands: true,
    says: async (world, text) => {
      using _attached = world.world.assistant.open('main', {
        onMessage: (message) => note(world, 'terminal', message.text),
      });
      const done = await say(world.world.assistant, text);
      note(world, 'terminal', done.text);
    },
    heard: answered('terminal'),
  },
  {
    name: 'page',
    chat: 'page',
    isPrivate: true,
    takesCommands: true,
    says: ({ page }, text) => page.say('main', text),
    heard: ({ followed }) =>
      followed.rows.flatMap((row) => (row.direction === 'out' && row.session === 'web:main' ? [row.text] : [])),
  },
  apiPlace('api with a session', 'kitchen'),
  apiPlace('api without a session', null),
  {
    name: 'webhook',
    chat: 'webhook',
    isPrivate: false,
    takesCommands: false,
    says: async ({ api }, text) => {
      const headers = { Authorization: `Bearer ${SECRET}` };
      await fetch(`${await api.base()}/hooks/door`, { method: 'POST', body: JSON.stringify({ text }), headers });
    },
    heard: () => [],
  },
  workPlace(OWNER, 'subagent'),
  workPlace(OWNER_IN_GROUP, 'subagent'),
  workPlace(OWNER, 'job'),
  workPlace(OWNER_IN_GROUP, 'job'),
  workPlace(TRUSTED, 'job'),
];

const MARK = /\bMARK(?<id>\d+)(?<what>TELL|SEEK)\b/gu;

/** A model that tells and looks wherever it is asked, and all that it was shown for it. */
export class Seeker {
  /** By mark: the bodies of the requests. */
  readonly shown = new Map<string, string[]>();
  readonly ended = new Set<string>();
  readonly #made = new Set<string>();

  answer(request: ModelApiRequest): Step {
    const text = request.view.lastUserText;
    const [mark] = [...text.matchAll(MARK)].at(-1) ?? [];
    if (mark === undefined) return 'Nothing.';
    const work = /\b(?<kind>SUBAGENT|JOB) (?<task>MARK[^\n]*)/u.exec(text)?.groups;
    const kind = work?.['kind'];
    if (kind !== undefined) return this.#delegate(kind, work?.['task'] ?? '', mark);
    this.shown.set(mark, [...(this.shown.get(mark) ?? []), request.text]);
    const calls = mark.endsWith('TELL') ? tellingCalls(text) : SEEKING;
    if (!this.#made.has(mark)) {
      this.#made.add(mark);
      return { calls: [...calls] };
    }
    this.ended.add(mark);
    return `End of ${mark}.`;
  }

  #delegate(kind: string, task: string, mark: string): Step {
    const key = `${kind} ${mark}`;
    if (this.#made.has(key)) return 'It is given away.';
    this.#made.add(key);
    const job = { action: 'add', when: 'in 1 second', kind: 'agent', text: task };
    const given = { task, label: mark, wait: true };
    return { calls: [kind === 'JOB' ? { name: 'cron', arguments: job } : { name: 'spawn', arguments: given }] };
  }
}

const SEEKING: readonly ScriptedCall[] = [
  { name: 'memory_search', arguments: { query: 'secret shelf', limit: 50 } },
  { name: 'tape', arguments: { action: 'search', text: 'secret shelf' } },
  { name: 'tape', arguments: { action: 'anchors' } },
  { name: 'read_file', arguments: { path: 'memory/MEMORY.md' } },
  { name: 'read_file', arguments: { path: 'memory/HISTORY.md' } },
  { name: 'grep', arguments: { pattern: 'quokka', path: '.' } },
];

function tellingCalls(text: string): readonly ScriptedCall[] {
  const [fact = 'nothing'] = /the secret shelf of place \d+ has quokka\d+z/u.exec(text) ?? [];
  return [{ name: 'memory_write', arguments: { fact } }];
}

/** Says yes to each question that the owner is asked, in their chat or where it stands. */
export async function agreeing(
  scopes: ScopeWorld,
  isOver: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const given = new Set<string>();
  const tell = async (key: string, place: Place, code: string): Promise<void> => {
    if (given.has(key)) return;
    given.add(key);
    await place.says(scopes, `/approve ${code}`);
  };
  await waitFor(
    async () => {
      for (const place of PLACES.filter(({ name }) => name.startsWith('owner '))) {
        for (const text of await place.heard(scopes)) {
          const code = /\/approve (\w+)/u.exec(text)?.[1];
          if (code !== undefined) await tell(code, place, code);
        }
      }
      const { waiting } = await scopes.world.assistant.call('approvalsList', {});
      for (const { code, session } of waiting) {
        const place = PLACES.find(({ name }) => name === session.replace('web:main', 'page').replace(':main', ''));
        if (place !== undefined) await tell(code, place, code);
      }
      return await isOver();
    },
    { timeoutMs, what: 'the end' },
  );
}
