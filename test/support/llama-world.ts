import { setTimeout as delay } from 'node:timers/promises';
import { startLlama, type Llama, type LlamaOptions } from './llama-server.ts';
import { waitFor } from './wait.ts';
import { chatOf, OWNER, startWorld, type World, type WorldOptions } from './world.ts';

/** An assistant whose model is served by llama.cpp. */
export interface LlamaWorld extends AsyncDisposable {
  readonly llama: Llama;
  readonly world: World;
  /** So many of the next requests have to be answered with a call of a tool. */
  calls: number;
  /** Says something, and returns what the owner reads until nothing runs any more. */
  says(text: string, extra?: Readonly<Record<string, unknown>>): Promise<readonly string[]>;
  /** Waits until nothing runs any more. */
  settled(): Promise<void>;
}

/**
 * Without a turn, a call, or a message on its way for so long, nothing runs any more. A turn may take long between two calls,
 * and its preview is in the chat before its answer, so neither says that it is over.
 */
const QUIET_MS = 400;

export async function startLlamaWorld(options: LlamaOptions = {}, more: WorldOptions = {}): Promise<LlamaWorld> {
  await using stack = new AsyncDisposableStack();
  const change = (body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> => {
    if (made.calls === 0 || !('tools' in body)) return body;
    made.calls -= 1;
    return { ...body, tool_choice: 'required' };
  };
  const llama = stack.use(await startLlama({ change, ...options }));
  const config = {
    // A question that the babble asks would wait for an answer.
    tools: { deny: ['ask_user'] },
    ...more.config,
    agent: {
      model: 'llamacpp/babble',
      maxIterations: 3,
      maxOutputTokens: 300,
      ...(more.config?.['agent'] as object | undefined),
    },
    providers: { llamacpp: { baseUrl: `${llama.proxy.url}/v1` } },
  };
  const world = stack.use(await startWorld({ ...more, config }));
  const settled = async (): Promise<void> => {
    const isQuiet = async (): Promise<boolean> => {
      const before = llama.proxy.passed.length + chatOf(world).length;
      await delay(QUIET_MS);
      const { queues } = await world.assistant.call('health', {});
      const running = llama.proxy.open + queues.runningTurns + queues.inbound + queues.outbound;
      return running === 0 && llama.proxy.passed.length + chatOf(world).length === before;
    };
    await waitFor(isQuiet, { what: 'the end of the turn', timeoutMs: 300_000 });
  };
  const owned = stack.move();
  const made: LlamaWorld = {
    llama,
    world,
    calls: 0,
    says: async (text, extra) => {
      const before = chatOf(world).length;
      world.telegram.userSays(OWNER, text, extra);
      await waitFor(() => chatOf(world).length > before, { what: `an answer to ${text}`, timeoutMs: 300_000 });
      await settled();
      return chatOf(world).slice(before);
    },
    settled,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
  return made;
}
