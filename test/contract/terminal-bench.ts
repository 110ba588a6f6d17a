import type { Assistant } from '../../src/app.ts';
import type { AttachedMessage } from '../../src/core/gateway/assistant-port.ts';
import type { BotBench, Person, Place, PlatformBench, UserMessage, Seen } from './bench.ts';

const ONE_PERSON = 'whoever can open the control socket is the owner';
const PLAIN = 'a terminal takes lines of text';

export const terminalBench: PlatformBench = {
  kind: 'terminal',
  lacks: {
    people: ONE_PERSON,
    instances: 'every assistant has exactly one',
    groups: ONE_PERSON,
    threads: 'a session has a name and nothing below it',
    bots: ONE_PERSON,
    edits: PLAIN,
    replies: PLAIN,
    forwards: PLAIN,
    buttons: 'questions are asked by the command line itself',
    files: 'files are named by their path, they are on this machine already',
    albums: PLAIN,
    reactions: PLAIN,
    stickers: PLAIN,
    places: PLAIN,
    markup: 'Markdown is shown as it was written',
    limit: 'text may be as long as it is',
    previews: 'who is attached gets the live events instead',
    typing: 'who is attached gets the live events instead',
    menu: '/help lists the commands',
    network: 'it is a call in the same process, or a socket of the same user',
    backlog: 'the command line says that no assistant is running',
  },
  openBot: async () => new TerminalBench(),
};

let sessions = 0;

class TerminalBench implements BotBench {
  readonly config = {};
  readonly botName = 'assistant';
  readonly #chats = new Map<string, { seen: Seen[]; attached: Disposable | undefined }>();
  #assistant: Assistant | undefined;

  connect(assistant: Assistant | undefined): void {
    this.#assistant = assistant;
    for (const [chatId, chat] of this.#chats) {
      chat.attached?.[Symbol.dispose]();
      chat.attached = this.#attach(chatId);
    }
  }

  person(name: string): Person {
    return { id: 'owner', name, isBot: false };
  }

  direct(): Place {
    const chatId = `session${(sessions += 1)}`;
    const seen: Seen[] = [];
    this.#chats.set(chatId, { seen, attached: undefined });
    const chat = this.#chats.get(chatId);
    if (chat !== undefined) chat.attached = this.#attach(chatId);
    return { chatId, type: 'direct' };
  }

  sends(place: Place, { text }: UserMessage): string {
    const sent = this.#assistant?.open(place.chatId).send({ text });
    // It ends with the process of a restart; what becomes of the words is what the suite looks at.
    sent?.catch(() => {});
    return text;
  }

  seen({ chatId }: Place): readonly Seen[] {
    return this.#chats.get(chatId)?.seen ?? [];
  }

  group = this.#nothing('groups');
  thread = this.#nothing('threads');
  album = this.#nothing('albums');
  edits = this.#nothing('edits');
  presses = this.#nothing('buttons');
  echoes = this.#nothing('an echo');
  repeats = this.#nothing('repetitions');
  typed = this.#nothing('typing');
  fetched = this.#nothing('files');
  fault = this.#nothing('faults');
  cut = this.#nothing('connections');
  menu = this.#nothing('a menu');

  async [Symbol.asyncDispose](): Promise<void> {
    this.connect(undefined);
  }

  #attach(chatId: string): Disposable | undefined {
    const onMessage = ({ id, text }: AttachedMessage): void => {
      this.#chats.get(chatId)?.seen.push({
        id,
        text,
        raw: text,
        before: [],
        replyTo: undefined,
        threadId: undefined,
        buttons: [],
        file: undefined,
      });
    };
    return this.#assistant?.open(chatId, { onMessage });
  }

  #nothing(what: string): () => never {
    return () => {
      throw new Error(`a terminal has no ${what}`);
    };
  }
}
