import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** Servers as lean as they can be, so that the bench measures the assistant and not its peers. */
export interface Peers extends AsyncDisposable {
  readonly telegramRoot: string;
  readonly modelUrl: string;
  /** Says something in a chat of a bot; resolves with the reply's text when it arrives. @default the bot of `BENCH_TOKEN` */
  ask(chatId: number, text: string, token?: string): Promise<string>;
  /** Names the bots that asked for updates since the last call. */
  asked(): ReadonlySet<string>;
  /** Milliseconds before each model answer. */
  setModelDelay(ms: number): void;
  /** Bodies of the requests to the model. */
  readonly requests: string[];
}

export const BENCH_TOKEN = '1:bench';

/** What one bot is to fetch, and who waits for what it sends. */
interface Bot {
  readonly updates: unknown[];
  readonly waiting: Map<number, ((text: string) => void)[]>;
  poll?: (response: string) => void;
}

const NO_UPDATES = '{"ok":true,"result":[]}';

export async function startPeers(): Promise<Peers> {
  const bots = new Map<string, Bot>();
  const requests: string[] = [];
  let asked = new Set<string>();
  let nextUpdate = 1;
  let delayMs = 0;

  const botOf = (token: string): Bot => {
    const bot = bots.get(token) ?? { updates: [], waiting: new Map() };
    bots.set(token, bot);
    return bot;
  };
  const answerPoll = (bot: Bot): void => {
    if (bot.poll === undefined || bot.updates.length === 0) return;
    const resolve = bot.poll;
    bot.poll = undefined;
    resolve(JSON.stringify({ ok: true, result: bot.updates.slice(0, 100) }));
  };

  const telegram = await listen(async (token, method, body) => {
    const bot = botOf(token);
    const { updates, waiting } = bot;
    if (method === 'getUpdates') {
      asked.add(token);
      const { offset = 0, timeout = 0 } = JSON.parse(body) as { offset?: number; timeout?: number };
      while (updates.length > 0 && (updates[0] as { update_id: number }).update_id < offset) updates.shift();
      return await new Promise<string>((resolve) => {
        bot.poll?.(NO_UPDATES);
        bot.poll = resolve;
        setTimeout(() => {
          if (bot.poll !== resolve) return;
          bot.poll = undefined;
          resolve(NO_UPDATES);
        }, timeout * 1_000).unref();
        answerPoll(bot);
      });
    }
    if (method === 'getMe') {
      return '{"ok":true,"result":{"id":7000000,"is_bot":true,"first_name":"b","username":"bench_bot","can_join_groups":true,"can_read_all_group_messages":false,"supports_inline_queries":false}}';
    }
    if (method === 'sendMessage') {
      const sent = JSON.parse(body) as { chat_id: number | string; text: string };
      const chat = Number(sent.chat_id);
      waiting.get(chat)?.shift()?.(sent.text);
      return JSON.stringify({
        ok: true,
        result: { message_id: nextUpdate, date: 1, chat: { id: chat, type: 'private' }, text: sent.text },
      });
    }
    return '{"ok":true,"result":true}';
  });

  const model = http.createServer((request, response) => {
    void readAll(request).then((body) => {
      // The window of the model is asked for without a body.
      if (body !== '') requests.push(body);
      const reply = (): void => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.end(modelFrames(body));
      };
      if (delayMs > 0) setTimeout(reply, delayMs);
      else reply();
    });
  });
  const modelPort = await open(model);

  return {
    telegramRoot: `http://127.0.0.1:${telegram.port}`,
    modelUrl: `http://127.0.0.1:${modelPort}/v1`,
    requests,
    asked: () => {
      const all = asked;
      asked = new Set();
      return all;
    },
    setModelDelay: (ms) => (delayMs = ms),
    ask(chatId, text, token = BENCH_TOKEN) {
      const id = (nextUpdate += 1);
      const bot = botOf(token);
      const { updates, waiting } = bot;
      updates.push({
        update_id: id,
        message: {
          message_id: id,
          date: 1,
          chat: { id: chatId, type: 'private', first_name: 'Ada' },
          from: { id: chatId, is_bot: false, first_name: 'Ada' },
          text,
        },
      });
      const answer = new Promise<string>((resolve) => waiting.set(chatId, [...(waiting.get(chatId) ?? []), resolve]));
      setImmediate(() => answerPoll(bot));
      return answer;
    },
    async [Symbol.asyncDispose]() {
      telegram.server.closeAllConnections();
      model.closeAllConnections();
      telegram.server.close();
      model.close();
    },
  };
}

/**
 * `tools N` in the last user message makes N calls, one after the other; everything else is answered at once. The history
 * before that message is not read: this server's time would count as the assistant's.
 */
function modelFrames(body: string): string {
  const newest = body.slice(body.lastIndexOf('"role":"user"'));
  const wanted = Number(/tools (?<n>\d+)/u.exec(newest)?.groups?.['n'] ?? 0);
  const done = newest.split('"role":"tool"').length - 1;
  const delta =
    done < wanted
      ? {
          role: 'assistant',
          tool_calls: [
            {
              index: 0,
              id: `call_${body.length}`,
              type: 'function',
              function: { name: 'list_dir', arguments: '{"path":"."}' },
            },
          ],
        }
      : { role: 'assistant', content: 'Done.' };
  const chunk = (choices: unknown[], usage: unknown = null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'bench', choices, usage })}\n\n`;
  return [
    chunk([{ index: 0, delta, finish_reason: null }]),
    chunk([{ index: 0, delta: {}, finish_reason: done < wanted ? 'tool_calls' : 'stop' }]),
    chunk([], { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 }),
    'data: [DONE]\n\n',
  ].join('');
}

async function listen(
  answer: (token: string, method: string, body: string) => Promise<string>,
): Promise<{ readonly server: http.Server; readonly port: number }> {
  const server = http.createServer((request, response) => {
    const [, bot = '', method = ''] = (request.url ?? '').split('?')[0]?.split('/') ?? [];
    void readAll(request)
      .then((body) => answer(bot.replace(/^bot/u, ''), method, body === '' ? '{}' : body))
      .then((text) => {
        response.writeHead(200, { 'content-type': 'application/json' });
        response.end(text);
      });
  });
  return { server, port: await open(server) };
}

function open(server: http.Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}

async function readAll(request: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
