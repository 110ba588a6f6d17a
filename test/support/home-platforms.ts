import { slowSends } from './crash-process.ts';
import { startFakeDiscord } from './fake-discord.ts';
import { startFakeSlack } from './fake-slack.ts';
import { startFakeTelegram } from './fake-telegram.ts';

/** What a gateway asked of a platform. */
export interface PlatformCall {
  /** Its name. */
  readonly from: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly what: string;
  /** Whether people get a message by it. */
  readonly isMessage: boolean;
  /** The message that it puts a reaction on, as `says` names it. */
  readonly reactsTo?: string;
}

/** A home of the storm: a bot of its own on a platform of its own, to which a few people talk, each alone. */
export interface StormHome extends AsyncDisposable {
  readonly name: string;
  readonly people: number;
  /** As in `channels`; the gateway that asks is named by the variable STORM_GATEWAY. */
  readonly channels: Readonly<Record<string, unknown>>;
  /** Whether the platform can tell what it has got already, so that nothing has to be marked. */
  readonly canTell: boolean;
  /** Returns the platform's name of the message. */
  says(person: number, text: string): string;
  /** What the assistant wrote, oldest first, as people see it. */
  texts(): readonly { readonly person: number; readonly text: string }[];
  /** Each call that people see something of, oldest first. */
  sends(): readonly PlatformCall[];
  /** How much the platform still has to tell. */
  open(): number;
}

type Open = (facts: {
  readonly name: string;
  readonly people: number;
  readonly random: () => number;
}) => Promise<StormHome>;

/** Stands in the addresses of a home's config.json. */
const CALLER = '${STORM_GATEWAY}';

const telegramHome: Open = async ({ name, people, random }) => {
  const telegram = await startFakeTelegram();
  const chats = Array.from({ length: people }, (_, n) => 101 + n);
  const ids = chats.map(String);
  slowSends(telegram, random);
  return {
    name,
    people,
    channels: {
      telegram: { token: telegram.token, apiRoot: telegram.apiRootOf(CALLER), allowFrom: ids, owners: ids },
    },
    canTell: false,
    says: (person, text) => {
      const chat = chats[person] ?? 0;
      return `${chat}/${telegram.userSays(chat, text).messageId}`;
    },
    texts: () =>
      telegram.sentMessages.map(({ chatId, visibleText }) => ({ person: chats.indexOf(chatId), text: visibleText })),
    sends: () =>
      telegram.calls
        .filter(({ method }) => /^(?:send|edit|setMessageReaction)/u.test(method))
        .map(({ method, from, at, payload }) => ({
          from,
          at,
          what: `${method} ${String(payload['text'])}`,
          isMessage: method === 'sendMessage',
          ...reactsTo(
            method === 'setMessageReaction'
              ? `${String(payload['chat_id'])}/${String(payload['message_id'])}`
              : undefined,
          ),
        })),
    open: () => telegram.unconfirmed.length,
    [Symbol.asyncDispose]: () => telegram[Symbol.asyncDispose](),
  };
};

const discordHome: Open = async ({ name, people, random }) => {
  const discord = await startFakeDiscord();
  const persons = Array.from({ length: people }, (_, n) => ({
    id: String(4_001 + n),
    username: `person${n}`,
    global_name: `Person ${n}`,
  }));
  const places = persons.map((person) => discord.direct(person));
  const ids = persons.map(({ id }) => id);
  const message = /^POST \/channels\/\d+\/messages$/u;
  discord.setFaultHandler((route) => (message.test(route) ? fault(random) : undefined));
  return {
    name,
    people,
    channels: {
      discord: { token: discord.token, apiBase: discord.apiBaseOf(CALLER), allowFrom: ids, owners: ids },
    },
    canTell: true,
    says: (n, text) => {
      const [place, person] = [places[n], persons[n]];
      return place === undefined || person === undefined ? '' : discord.sends(place, person, text).id;
    },
    texts: () =>
      discord.chats.posts
        .filter(({ author }) => author.id === discord.bot.id)
        .map(({ placeId, visible }) => ({ person: places.findIndex(({ id }) => id === placeId), text: visible })),
    sends: () =>
      discord.calls
        .filter(({ route }) => /^(?:POST|PATCH|PUT|DELETE) \/(?:channels|interactions|webhooks)\//u.test(route))
        .map(({ route, body, from, at }) => ({
          from,
          at,
          what: `${route} ${JSON.stringify(body)}`,
          isMessage: message.test(route),
          ...reactsTo(/\/messages\/(\d+)\/reactions\//u.exec(route)?.[1]),
        })),
    open: () => 0,
    [Symbol.asyncDispose]: () => discord[Symbol.asyncDispose](),
  };
};

const slackHome: Open = async ({ name, people, random }) => {
  const slack = await startFakeSlack({ redeliverMs: 1_000 });
  const ids = Array.from({ length: people }, (_, n) => `U0P${n}`);
  for (const id of ids) slack.workspace.addPerson(id, id);
  const chats = ids.map((id) => `D${id.slice(1)}`);
  slack.setFaultHandler((method) => (method.startsWith('chat.') ? fault(random) : undefined));
  const config = { ...slack.config, apiUrl: slack.apiUrlOf(CALLER) };
  return {
    name,
    people,
    channels: { slack: { ...config, allowFrom: ids, owners: ids } },
    canTell: true,
    says: (person, text) => `${chats[person] ?? ''}/${slack.sends(ids[person] ?? '', chats[person] ?? '', text)}`,
    texts: () => slack.sentPosts.map(({ chatId, text }) => ({ person: chats.indexOf(chatId), text })),
    sends: () =>
      slack.calls
        .filter(({ method }) => /^(?:chat|reactions|assistant|files|views)\./u.test(method))
        .map(({ method, payload, from, at }) => ({
          from,
          at,
          what: `${method} ${String(payload['text'])}`,
          isMessage: method === 'chat.postMessage',
          ...reactsTo(
            method.startsWith('reactions.')
              ? `${String(payload['channel'])}/${String(payload['timestamp'])}`
              : undefined,
          ),
        })),
    open: () => slack.sockets.unacknowledged.length,
    [Symbol.asyncDispose]: () => slack[Symbol.asyncDispose](),
  };
};

const reactsTo = (message: string | undefined): { readonly reactsTo?: string } =>
  message === undefined ? {} : { reactsTo: message };

/** The platforms that homes can live on. */
export const PLATFORMS = { telegram: telegramHome, discord: discordHome, slack: slackHome };

/** Some sends are slow and some are taken without an answer, so that faults fall before, into and after them. */
function fault(random: () => number): 'reset-after' | { readonly delayMs: number } | undefined {
  const dice = random();
  if (dice < 0.05) return 'reset-after';
  return dice < 0.5 ? { delayMs: 10 + random() * 30 } : undefined;
}
