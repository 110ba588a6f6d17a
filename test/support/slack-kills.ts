import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { killHard, seeded, startChild, stopSoftly } from './crash-process.ts';
import { startFakeOpenAi } from './fake-openai.ts';
import { startFakeSlack, type FakeSlack } from './fake-slack.ts';
import { tempFolder } from './temp.ts';
import { waitFor } from './wait.ts';

const PEOPLE = ['U0ONE', 'U0TWO', 'U0THREE'];

export interface SlackKills {
  readonly messages: number;
  readonly lost: readonly number[];
  readonly doubled: readonly number[];
  /** Copies that were marked as such. */
  readonly marked: number;
  readonly mostSockets: number;
}

/** Kills the assistant at random instants while numbered messages stream in over Slack, then counts. */
export async function slackKills({ kills, seed }: { kills: number; seed: number }): Promise<SlackKills> {
  const random = seeded(seed);
  await using folder = await tempFolder();
  await using slack = await startFakeSlack({ redeliverMs: 300 });
  await using model = await startFakeOpenAi({
    handler: ({ view }) => ({
      delayMs: 10,
      text: numbers(view.lastUserText)
        .map((n) => `answer ${n}.`)
        .join(' '),
    }),
  });
  await mkdir(join(folder.path, 'workspace'), { recursive: true });
  const config = {
    agent: { model: 'openai/scripted-model' },
    providers: { openai: { apiKey: 'test-key-0001', baseUrl: model.url } },
    channels: { slack: { ...slack.config, allowFrom: PEOPLE, owners: PEOPLE } },
    tools: { exec: { mode: 'off' } },
    heartbeat: { enabled: false },
    log: { level: 'error', format: 'json' },
  };
  await writeFile(join(folder.path, 'config.json'), JSON.stringify(config));
  slack.setFaultHandler((method) => {
    if (!method.startsWith('chat.')) return undefined;
    const dice = random();
    if (dice < 0.1) return 'reset-after';
    return dice < 0.5 ? { delayMs: 10 + random() * 30 } : undefined;
  });
  let sent = 0;
  const sendMore = (): void => {
    while (sent - answered(slack).length < 6) {
      sent += 1;
      const person = PEOPLE[sent % PEOPLE.length] ?? '';
      slack.says(person, `D${person.slice(1)}`, `please do number ${sent}`);
    }
  };
  for (let kill = 0; kill < kills; kill += 1) {
    sendMore();
    const progress = (): number => slack.sockets.acks.length + model.requests.length + slack.sentPosts.length;
    const before = progress();
    const child = await startChild(folder.path);
    await waitFor(() => progress() > before, { timeoutMs: 30_000, what: 'progress' });
    const end = performance.now() + random() * 600;
    while (performance.now() < end) {
      sendMore();
      await delay(10);
    }
    await killHard(child);
    sendMore();
  }
  const child = await startChild(folder.path);
  await waitFor(() => answered(slack).length >= sent, { timeoutMs: 60_000, what: 'every answer' }).catch(() => {});
  await waitFor(() => slack.sockets.unacknowledged.length === 0, { timeoutMs: 20_000, what: 'every acknowledgement' });
  await delay(400);
  await stopSoftly(child);
  const plain = slack.sentPosts.filter(({ text }) => !text.startsWith('↻')).flatMap(({ text }) => numbers(text));
  const all = Array.from({ length: sent }, (_, n) => n + 1);
  const found = answered(slack);
  return {
    messages: sent,
    lost: all.filter((n) => !found.includes(n)),
    doubled: all.filter((n) => plain.filter((other) => other === n).length > 1),
    marked: slack.sentPosts.filter(({ text }) => text.startsWith('↻')).length,
    mostSockets: slack.sockets.most,
  };
}

function answered({ sentPosts }: FakeSlack): readonly number[] {
  return [...new Set(sentPosts.flatMap(({ text }) => numbers(text)))];
}

/** Of the numbers asked for, or answered. */
function numbers(text: string): readonly number[] {
  const found = Array.from(text.matchAll(/(?:number|answer) (\d+)/gu), ([, digits]) => Number(digits));
  return [...new Set(found)];
}
