import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ModelApiRequest, StepHandler } from '../support/model-script.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, type World } from '../support/world.ts';

export const SESSION = `telegram:${OWNER}`;
/** Two people whom the assistant knows: chat 42 is the owner's, chat 43 somebody's whom it trusts. */
export const TRUSTED = 43;
export const TWO_PEOPLE = { channels: { telegram: { allowFrom: ['42', '43'], owners: ['42'] } } };

/** A turn that does not fit waits 30 s at most for older parts of its conversation to leave. */
const LONGEST_TURN_MS = 45_000;

/** Says something in a direct chat; resolves with the next message there. */
export async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, {
    timeoutMs: LONGEST_TURN_MS,
    what: `a reply to ${text}`,
  });
  return chatOf(world, chat)[before] ?? '';
}

export async function note(world: World, name: 'MEMORY.md' | 'HISTORY.md'): Promise<string> {
  return await readFile(join(world.workspace, 'memory', name), 'utf8').catch(() => '');
}

export async function putMemory(world: World, text: string): Promise<void> {
  await mkdir(join(world.workspace, 'memory'), { recursive: true });
  await writeFile(join(world.workspace, 'memory', 'MEMORY.md'), text);
}

/** The last request of a turn without its system prompt. */
export function messagesOf(world: World): string {
  const messages: unknown = world.model.requests.at(-1)?.body['messages'];
  return JSON.stringify(Array.isArray(messages) ? messages.slice(1) : []);
}

export const systemOf = (world: World): string => world.model.requests.at(-1)?.view.system ?? '';
/** What the last tool answered, as the model read it. */
export const lastResult = (world: World): string => world.model.requests.at(-1)?.view.toolResults.at(-1)?.text ?? '';

/** What a request for a record holds. */
export function asked({ view }: Pick<ModelApiRequest, 'view'>): {
  readonly memory: string;
  readonly conversation: string;
} {
  const block = (name: string): string =>
    new RegExp(`<${name}>\n([\\s\\S]*?)\n</${name}>`, 'u').exec(view.lastUserText)?.[1] ?? '';
  return { memory: block('memory'), conversation: block('conversation') };
}

/** What a model answers that saves these. */
export function saves(
  history_entry: string,
  memory_update?: string,
): Exclude<Awaited<ReturnType<StepHandler>>, string> {
  const said = memory_update === undefined ? { history_entry } : { history_entry, memory_update };
  return { calls: [{ name: 'save_memory', arguments: said }] };
}

/** What somebody asked to be kept in mind, in the order in which it was said. */
function noted(conversation: string): readonly string[] {
  return [...conversation.matchAll(/(?:^|: )Remember: (.+)$/gmu)].map((match) => match[1] ?? '');
}

/** Writes down all that it reads and nothing else, in the log and in MEMORY.md. */
export const summarising: StepHandler = (request) => {
  const { memory, conversation } = asked(request);
  const facts = noted(conversation);
  const update = [memory, ...facts.map((fact) => `- ${fact}`)].join('\n').trim();
  return saves(['They talked.', ...facts].join(' '), update);
};

/** Takes no forced choice, and calls no tool when it is free to. */
export const choiceRefusing: StepHandler = (request) => {
  if (!['"auto"', '{"type":"auto"}', '{}'].includes(JSON.stringify(request.body['tool_choice'] ?? {}))) {
    return { error: { status: 400, message: 'tool_choice is not supported by this model' } };
  }
  return ['They talked.', ...noted(asked(request).conversation)].join(' ');
};

/** An error that is not worth another try at once. */
export const failing: StepHandler = () => ({ error: { status: 400, message: 'this model is out of order' } });
