import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { judgeTexts, type Verdict } from './crash-judge.ts';
import { killHard, seeded, startChild, startTimed, stopSoftly } from './crash-process.ts';
import { countOpen, readLedger } from './crash-steps.ts';
import { answerAtOnce, answered, asksFor, gaveUp, numbersNamed, request } from './crash-talk.ts';
import { FakeMatrix } from './fake-matrix.ts';
import { openRoom, textsIn } from './matrix-world.ts';
import { startFakeDiscord } from './fake-discord.ts';
import { cardText } from './feishu-card.ts';
import { startFakeFeishu } from './fake-feishu.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeSlack } from './fake-slack.ts';
import { FEISHU, MATRIX, putPlugin, type PluginPackage } from './plugin-package.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

/** What a platform shows to three people who each talk to the assistant alone. */
export interface KillSide extends AsyncDisposable {
  /** As in `channels`. */
  readonly channels: Readonly<Record<string, unknown>>;
  /** The package that brings the channel. @default the assistant has it itself */
  readonly plugin?: PluginPackage;
  sends(person: number, text: string): void;
  /** What the assistant wrote, oldest first. */
  texts(): readonly string[];
  /** Grows with whatever passes between the two. */
  progress(): number;
  /** What the platform would still tell. */
  open(): number;
}

export interface PlatformKills extends Verdict {
  readonly messages: number;
}

const PEOPLE = 3;
/** A process lives at most so long after its first step, or as long as its start took on a busy machine. */
const LIFE_MS = 600;
/** Messages without an answer at a time. */
const OUTSTANDING = 6;

/** Kills the assistant at random instants while numbered messages stream in over a platform, then counts. */
export async function platformKills(
  open: (random: () => number) => Promise<KillSide>,
  { kills, seed }: { kills: number; seed: number },
): Promise<PlatformKills> {
  const random = seeded(seed);
  await using folder = await tempFolder();
  await using side = await open(random);
  await using model = await startFakeOpenAi({
    handler: answerAtOnce,
  });
  await mkdir(join(folder.path, 'workspace'), { recursive: true });
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: side.channels,
    plugins: side.plugin === undefined ? [] : [side.plugin.name],
    tools: { exec: { mode: 'off' } },
    heartbeat: { enabled: false },
    log: { level: 'error', format: 'json' },
  };
  if (side.plugin !== undefined) await putPlugin(folder.path, side.plugin);
  await writeFile(join(folder.path, 'config.json'), JSON.stringify(config));
  let sent = 0;
  const named = (): number => new Set(side.texts().flatMap(numbersNamed)).size;
  const say = (): void => {
    sent += 1;
    side.sends(sent % PEOPLE, request(sent));
  };
  const sendMore = (): void => {
    while (sent - named() < OUTSTANDING) say();
  };
  const progress = (): number => side.progress() + model.requests.length;
  const toTheEnd = async (): Promise<void> => {
    const child = await startChild(folder.path);
    await waitFor(() => named() >= sent && countOpen(folder.path) === 0, {
      timeoutMs: 180_000,
      what: 'every answer',
    }).catch(() => {});
    await waitFor(() => side.open() === 0, { timeoutMs: 60_000, what: 'every acknowledgement' });
    await delay(400);
    await stopSoftly(child);
  };

  // Who has never written has no chat of which a later start could know.
  const first = await startChild(folder.path);
  for (let person = 0; person < PEOPLE; person += 1) say();
  await waitFor(() => named() === PEOPLE, { timeoutMs: 120_000, what: 'the first answers' });
  await killHard(first);
  for (let kill = 0; kill < kills; kill += 1) {
    sendMore();
    const before = progress();
    const { child, startMs } = await startTimed(folder.path);
    await waitFor(() => progress() > before, { timeoutMs: 120_000, what: 'progress' });
    const end = performance.now() + random() * Math.max(LIFE_MS, startMs);
    while (performance.now() < end) {
      sendMore();
      await delay(10);
    }
    await killHard(child);
    sendMore();
  }
  await toTheEnd();
  const texts = side.texts();
  const asked = Array.from({ length: sent }, (_, n) => asksFor(n + 1)).flat();
  const { told } = readLedger(folder.path);
  return { messages: sent, ...judgeTexts({ asked, texts, answered, gaveUp, told, uncertain: [] }) };
}

export async function slackSide(random: () => number): Promise<KillSide> {
  const people = ['U0ONE', 'U0TWO', 'U0THREE'];
  const slack = await startFakeSlack({ redeliverMs: 300 });
  slack.setFaultHandler((method) => (method.startsWith('chat.') ? fault(random) : undefined));
  return {
    channels: { slack: { ...slack.config, allowFrom: people, owners: people } },
    sends: (n, text) => {
      const person = people[n] ?? '';
      slack.sends(person, `D${person.slice(1)}`, text);
    },
    texts: () => slack.sentPosts.map(({ text }) => text),
    progress: () => slack.sockets.acks.length + slack.sentPosts.length,
    open: () => slack.sockets.unacknowledged.length,
    [Symbol.asyncDispose]: () => slack[Symbol.asyncDispose](),
  };
}

export async function discordSide(random: () => number): Promise<KillSide> {
  const people = ['4001', '4002', '4003'].map((id) => ({ id, username: `person${id}`, global_name: `Person ${id}` }));
  const discord = await startFakeDiscord();
  const places = people.map((person) => discord.direct(person));
  discord.setFaultHandler((route) => (/^POST \/channels\/\d+\/messages$/u.test(route) ? fault(random) : undefined));
  const ids = people.map(({ id }) => id);
  return {
    channels: { discord: { token: discord.token, apiBase: discord.apiBase, allowFrom: ids, owners: ids } },
    sends: (n, text) => {
      const [place, person] = [places[n], people[n]];
      if (place !== undefined && person !== undefined) discord.sends(place, person, text);
    },
    texts: () => places.flatMap((place) => discord.sent(place)).map(({ content }) => content),
    progress: () => discord.calls.length,
    open: () => 0,
    [Symbol.asyncDispose]: () => discord[Symbol.asyncDispose](),
  };
}

export async function feishuSide(random: () => number): Promise<KillSide> {
  const feishu = await startFakeFeishu({ redeliverMs: 300 });
  const { tenant, line } = feishu;
  const people = ['One', 'Two', 'Three'].map((name) => {
    const id = tenant.newId('ou');
    tenant.people.set(id, name);
    const chatId = tenant.newId('oc');
    tenant.chats.set(chatId, { id: chatId, mode: 'p2p' });
    return { id, chatId };
  });
  feishu.setFaultHandler(({ route }) =>
    /^POST .*\/messages(?:\/:\/reply)?$/u.test(route) ? fault(random) : undefined,
  );
  const ids = people.map(({ id }) => id);
  const sent = () => tenant.messages.filter(({ sender }) => sender === tenant.app.id);
  return {
    plugin: FEISHU,
    channels: { feishu: { ...feishu.config, allowFrom: ids, owners: ids } },
    sends: (n, text) => {
      const person = people[n];
      if (person === undefined) return;
      const { id: sender, chatId } = person;
      feishu.bring(tenant.write({ chatId, sender, type: 'text', content: { text } }));
    },
    texts: () => sent().map(({ content }) => cardText(content)),
    progress: () => line.confirmed.length + sent().length,
    open: () => line.unconfirmed,
    [Symbol.asyncDispose]: () => feishu[Symbol.asyncDispose](),
  };
}

export async function matrixSide(random: () => number): Promise<KillSide> {
  const people = ['@one:test', '@two:test', '@three:test'];
  const matrix = await FakeMatrix.start();
  const rooms = people.map((id) => openRoom(matrix, [{ id, name: id }]));
  matrix.setFaultHandler(({ route }) => (route.includes('/send/m.room.message/') ? fault(random) : undefined));
  return {
    channels: { matrix: { ...matrix.config, allowFrom: people, owners: people } },
    plugin: MATRIX,
    sends: (n, body) => {
      const [room, sender] = [rooms[n], people[n]];
      if (room === undefined || sender === undefined) return;
      matrix.rooms.add(room, { type: 'm.room.message', sender, content: { msgtype: 'm.text', body } });
    },
    texts: () => rooms.flatMap((room) => textsIn(matrix, room)),
    progress: () => matrix.calls.length,
    open: () => 0,
    [Symbol.asyncDispose]: () => matrix[Symbol.asyncDispose](),
  };
}

/** Some sends are slow and some are taken without an answer, so that kills fall before, into and after them. */
function fault(random: () => number): 'reset-after' | { delayMs: number } | undefined {
  const dice = random();
  if (dice < 0.1) return 'reset-after';
  return dice < 0.5 ? { delayMs: 10 + random() * 30 } : undefined;
}
