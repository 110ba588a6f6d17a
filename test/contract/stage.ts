import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseChat } from '../../src/core/bus/messages.ts';
import { createAssistant, type Assistant } from '../../src/app.ts';
import { silentLog } from '../../src/core/util/log.ts';
import { MODEL_KEY } from '../support/canaries.ts';
import type { FakeModel } from '../support/fake-model.ts';
import { startFakeOpenAi } from '../support/fake-openai.ts';
import type { ModelApiRequest, Step } from '../support/model-script.ts';
import { putPlugin } from '../support/plugin-package.ts';
import { tempFolder } from '../support/temp.ts';
import { waitFor } from '../support/wait.ts';
import type { Ability, BotBench, Person, Place, PlatformBench, UserMessage, Seen } from './bench.ts';

/** A notice of a message that did not arrive in another chat. */
const ELSEWHERE = /^(?:A message|\d+ messages) for .* did not arrive/u;

/** `main` answers when it is meant; `open` speaks in one group by itself and does not show answers while it writes them. */
export type BotName = 'main' | 'open' | 'closed' | 'broken';

/** What the model does with the requests of one chat, one after another; the last one stays. */
export type Scripted = Step | ((request: ModelApiRequest) => Step | Promise<Step>);

const OWNERS = 12;
const FRIENDS = 250;

/** A running assistant with its bots on one platform, a model that every behaviour scripts for its own chats, and people. */
export class Stage implements AsyncDisposable {
  readonly platform: PlatformBench;
  readonly model: FakeModel;
  /** The bot that is heard by accident, where there is one: `groups.allowBots` names it. */
  readonly knownBot: Person | undefined;
  /** The only groups that the bot `open` takes part in. */
  readonly #openGroups: Place[];
  readonly home: string;
  readonly #bots: ReadonlyMap<BotName, BotBench>;
  readonly #owners: Person[];
  readonly #friends: Person[];
  readonly #scripts = new Map<string, Scripted[]>();
  readonly #asked = new Map<string, ModelApiRequest[]>();
  readonly #owned: AsyncDisposable;
  #assistant: Assistant | undefined;

  private constructor(facts: {
    platform: PlatformBench;
    model: FakeModel;
    home: string;
    bots: ReadonlyMap<BotName, BotBench>;
    owners: Person[];
    friends: Person[];
    knownBot: Person | undefined;
    openGroups: Place[];
    owned: AsyncDisposable;
  }) {
    this.platform = facts.platform;
    this.model = facts.model;
    this.home = facts.home;
    this.knownBot = facts.knownBot;
    this.#openGroups = facts.openGroups;
    this.#bots = facts.bots;
    this.#owners = facts.owners;
    this.#friends = facts.friends;
    this.#owned = facts.owned;
    this.model.setHandler((request) => this.#answer(request));
  }

  static async open(platform: PlatformBench): Promise<Stage> {
    const has = (ability: Ability): boolean => platform.lacks[ability] === undefined;
    await using stack = new AsyncDisposableStack();
    const folder = stack.use(await tempFolder());
    const model = stack.use(await startFakeOpenAi());
    const names: readonly BotName[] = has('instances') ? ['main', 'open', 'closed', 'broken'] : ['main'];
    const bots = new Map<BotName, BotBench>();
    for (const name of names) {
      const facts = { name: channelOf(platform, name), wrongCredentials: name === 'broken' };
      bots.set(name, stack.use(await platform.openBot(facts)));
    }
    const main = botNamed(bots, 'main');
    const people = (count: number, name: string): Person[] =>
      Array.from({ length: has('people') ? count : 1 }, (_, n) => main.person(`${name}${n}`));
    const owners = people(OWNERS, 'Owner');
    const friends = has('people') ? people(FRIENDS, 'Friend') : [];
    const knownBot = has('bots') ? main.person('Helper', { isBot: true }) : undefined;
    const openGroups = has('instances') && has('groups') ? [1, 2, 3].map(() => botNamed(bots, 'open').group()) : [];
    const ids = (list: readonly Person[]): readonly string[] => list.map(({ id }) => id);
    const access = { allowFrom: ids([...owners, ...friends]), owners: ids(owners) };
    const groups = {
      main: { debounceMs: 0, allowBots: knownBot === undefined ? [] : [knownBot.id], botTurnsPerHour: 2 },
      open: { debounceMs: 0, policy: 'open', allow: openGroups.map(({ chatId }) => chatId) },
      closed: { debounceMs: 0, policy: 'off' },
      broken: {},
    };
    const home = join(folder.path, 'home');
    await mkdir(join(home, 'workspace'), { recursive: true, mode: 0o700 });
    const config = {
      agent: { model: 'openai/scripted-model' },
      providers: { openai: { apiKey: MODEL_KEY, baseUrl: model.url } },
      heartbeat: { enabled: false },
      plugins: platform.plugin === undefined ? [] : [platform.plugin.name],
      channels: Object.fromEntries(
        [...bots].map(([name, bot]) => [
          channelOf(platform, name),
          {
            kind: platform.kind,
            ...bot.config,
            ...access,
            groups: groups[name],
            stream: name !== 'open',
            reactions: { show: name === 'main' },
          },
        ]),
      ),
    };
    if (platform.plugin !== undefined) await putPlugin(home, platform.plugin);
    if (platform.kind === 'terminal') config.channels = {};
    await writeFile(join(home, 'config.json'), JSON.stringify(config));
    const stage = new Stage({
      platform,
      model,
      home,
      bots,
      owners,
      friends,
      knownBot,
      openGroups,
      owned: stack.move(),
    });
    await stage.start();
    return stage;
  }

  get assistant(): Assistant {
    if (this.#assistant === undefined) throw new Error('the assistant is stopped');
    return this.#assistant;
  }

  bot(name: BotName = 'main'): BotBench {
    return botNamed(this.#bots, name);
  }

  /** The key of a bot in `config.channels`. */
  channel(name: BotName = 'main'): string {
    return channelOf(this.platform, name);
  }

  /** A direct chat that nobody else uses: of an owner, or of somebody who is only listed where there are more people. */
  async chat(role: 'owner' | 'friend' = 'friend'): Promise<Chat> {
    const isMany = this.platform.lacks.people === undefined;
    const pool = role === 'owner' || !isMany ? this.#owners : this.#friends;
    const person = isMany ? pool.shift() : pool[0];
    if (person === undefined) throw new Error(`the stage has no more people of the kind ${role}`);
    return this.chatIn(this.bot().direct(person), person);
  }

  /** A group that nobody else uses, and somebody in it who is listed. */
  async group(name: BotName = 'main'): Promise<Chat> {
    const person = this.#friends.shift();
    if (person === undefined) throw new Error('the stage has no more people');
    return this.chatIn(this.bot(name).group(), person, name);
  }

  /** A group that nobody else uses and in which the bot `open` speaks by itself, and somebody in it who is listed. */
  openGroup(): Chat {
    const place = this.#openGroups.shift();
    if (place === undefined) throw new Error('the stage has no more open groups');
    return this.chatIn(place, this.friend(), 'open');
  }

  /** One more person who is listed. */
  friend(): Person {
    const person = this.#friends.shift();
    if (person === undefined) throw new Error('the stage has no more people');
    return person;
  }

  chatIn(place: Place, by: Person, name: BotName = 'main'): Chat {
    return new Chat(this, name, place, by);
  }

  /** Whatever was said before is dealt with: somebody said something after it, and was answered. */
  async settled(name: BotName = 'main'): Promise<void> {
    const chat = name === 'main' ? await this.chat() : this.#chatElsewhere(name);
    chat.sends('are you there?');
    await chat.sees((texts) => texts.length > 0, 'an answer to what was said last');
  }

  script(name: BotName, place: Place, steps: readonly Scripted[]): void {
    this.#scripts.set(this.#keyOf(name, place), [...steps]);
  }

  /** What the model was asked for a chat, oldest first; all threads of a chat together. */
  asked(name: BotName, place: Place): readonly ModelApiRequest[] {
    return this.#asked.get(this.#keyOf(name, place)) ?? [];
  }

  async start(): Promise<void> {
    this.#assistant = await createAssistant({
      home: this.home,
      serve: 'gateway',
      port: 0,
      environment: { PATH: process.env['PATH'], HOME: join(this.home, '..', 'person') },
      log: silentLog,
    });
    for (const bot of this.#bots.values()) bot.connect(this.#assistant);
  }

  async stop(): Promise<void> {
    for (const bot of this.#bots.values()) bot.connect(undefined);
    await this.#assistant?.[Symbol.asyncDispose]();
    this.#assistant = undefined;
  }

  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    await this.#owned[Symbol.asyncDispose]();
  }

  #chatElsewhere(name: BotName): Chat {
    const person = this.friend();
    return this.chatIn(this.bot(name).direct(person), person, name);
  }

  #keyOf(name: BotName, { chatId }: Pick<Place, 'chatId'>): string {
    return `${this.channel(name)} ${chatId}`;
  }

  #answer(request: ModelApiRequest): Step | Promise<Step> {
    const text = request.view.lastUserText;
    const found = [...text.matchAll(/^chat: (?<chat>\S+) \((?:direct|group)\)$/gmu)].at(-1);
    const { channel = '', chatId = '' } = parseChat(found?.groups?.['chat'] ?? '') ?? {};
    const key = `${channel} ${chatId}`;
    this.#asked.set(key, [...(this.#asked.get(key) ?? []), request]);
    const steps = this.#scripts.get(key) ?? [];
    const step = steps.length > 1 ? steps.shift() : steps[0];
    if (step === undefined) return `Heard: ${text.split('\n').at(-1)}`;
    return typeof step === 'function' ? step(request) : step;
  }
}

/** A place and who speaks there. */
export class Chat {
  readonly stage: Stage;
  readonly bot: BotBench;
  readonly botName: BotName;
  readonly place: Place;
  readonly by: Person;

  constructor(stage: Stage, botName: BotName, place: Place, by: Person) {
    this.stage = stage;
    this.bot = stage.bot(botName);
    this.botName = botName;
    this.place = place;
    this.by = by;
  }

  /** What the model does here: one step for each request, the last for all that follow. */
  scripted(...steps: readonly Scripted[]): void {
    this.stage.script(this.botName, this.place, steps);
  }

  sends(text: string, userMessage: Partial<UserMessage> = {}): string {
    return this.bot.sends(this.place, { by: this.by, text, ...userMessage });
  }

  /** Says it, in a group with a mention, and resolves with the next message of the assistant's. */
  async asks(text: string, userMessage: Partial<UserMessage> = {}): Promise<Seen> {
    const before = this.seen.length;
    this.sends(text, { mention: this.place.type === 'group', ...userMessage });
    return await waitFor(() => this.seen[before], { what: `a reply to ${text}` });
  }

  /** The assistant's messages here; in a thread those of the thread. */
  get seen(): readonly Seen[] {
    return this.bot.seen(this.place);
  }

  /** Without what the owner is told here of other chats, in which other behaviours break things at the same time. */
  get texts(): readonly string[] {
    return this.seen.map(({ text }) => text).filter((text) => !ELSEWHERE.test(text));
  }

  /** The assistant's reactions on a message of somebody's. */
  marks(id: string): readonly string[] {
    return this.bot.marks?.(this.place, id) ?? [];
  }

  /** What the model was asked for this chat. */
  get asked(): readonly ModelApiRequest[] {
    return this.stage.asked(this.botName, this.place);
  }

  /** The newest words that the model was given for this chat. */
  get heard(): string {
    return this.asked.at(-1)?.view.lastUserText ?? '';
  }

  async sees(condition: (texts: readonly string[]) => boolean, what: string): Promise<void> {
    await waitFor(() => condition(this.texts), { what: `${what}, but there is ${JSON.stringify(this.texts)}` });
  }
}

function channelOf({ kind }: PlatformBench, name: BotName): string {
  return name === 'main' ? kind : name;
}

function botNamed(bots: ReadonlyMap<BotName, BotBench>, name: BotName): BotBench {
  const bot = bots.get(name);
  if (bot === undefined) throw new Error(`the stage has no bot ${name}`);
  return bot;
}
