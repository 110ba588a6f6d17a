import { startFakeSlack, type FakeSlack, type FakeSlackOptions } from './fake-slack.ts';
import { startWorld, type World, type WorldOptions } from './world.ts';

/** The owner, and where they talk to the bot alone. */
export const OWNER = 'U0OWNER';
export const DIRECT = 'D0OWNER';
export const CHANNEL = 'C0TEAM';

export type SlackWorld = World & { readonly slack: FakeSlack };

/** A whole assistant whose only channel is Slack. */
export async function startSlackWorld(
  options: WorldOptions & {
    readonly slack?: Readonly<Record<string, unknown>>;
    readonly server?: FakeSlackOptions;
  } = {},
): Promise<SlackWorld> {
  await using stack = new AsyncDisposableStack();
  const slack = stack.use(await startFakeSlack(options.server));
  slack.workspace.addPerson(OWNER, 'Olive');
  const channels = { telegram: { enabled: false }, slack: { ...slack.config, allowFrom: [OWNER], ...options.slack } };
  const world = await startWorld({ ...options, config: { ...options.config, channels } });
  const end = world[Symbol.asyncDispose].bind(world);
  stack.defer(end);
  const owned = stack.move();
  return Object.assign(world, { slack, [Symbol.asyncDispose]: () => owned.disposeAsync() });
}

/** What people read of the bot in a conversation, oldest first. */
export function postsIn({ slack }: SlackWorld, chatId = DIRECT, threadId?: string): readonly string[] {
  return slack.sentPosts.filter((post) => post.chatId === chatId && post.threadId === threadId).map(({ text }) => text);
}
