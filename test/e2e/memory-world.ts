import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { StepHandler } from '../support/model-script.ts';
import { waitFor } from '../support/wait.ts';
import { chatOf, OWNER, type World } from '../support/world.ts';

export const SESSION = `telegram:${OWNER}`;

export async function say(world: World, text: string, chat = OWNER): Promise<string> {
  const before = chatOf(world, chat).length;
  world.telegram.userSays(chat, text);
  await waitFor(() => chatOf(world, chat).length > before, { what: `a reply to ${text}` });
  return chatOf(world, chat)[before] ?? '';
}

export async function note(world: World, name: 'MEMORY.md' | 'HISTORY.md'): Promise<string> {
  return await readFile(join(world.workspace, 'memory', name), 'utf8').catch(() => '');
}

export const lastBody = (world: World): string => JSON.stringify(world.model.requests.at(-1)?.body);
/** The last request without its system prompt. */
export function messagesOf(world: World): string {
  const messages: unknown = world.model.requests.at(-1)?.body['messages'];
  return JSON.stringify(Array.isArray(messages) ? messages.slice(1) : []);
}

export const systemOf = (world: World): string => world.model.requests.at(-1)?.view.system ?? '';

/** What a request about memory holds, as text. */
export function asked(request: Parameters<StepHandler>[0]): { readonly memory: string; readonly conversation: string } {
  const text = JSON.stringify(request.body['messages']).replaceAll('\\n', '\n').replaceAll('\\"', '"');
  const block = (name: string): string => new RegExp(`<${name}>\n([\\s\\S]*?)\n</${name}>`, 'u').exec(text)?.[1] ?? '';
  return { memory: block('memory'), conversation: block('conversation') };
}

const FACT = /fact \d+ is [a-z]+-\d+/gu;

/** Writes down every fact that it reads, in the log and in MEMORY.md. */
export const summarising: StepHandler = (request) => {
  const { memory, conversation } = asked(request);
  const facts = conversation.match(FACT) ?? [];
  const history_entry = `They talked. ${facts.join('. ')}.`;
  const memory_update = [memory, ...facts.map((fact) => `- ${fact}`)].join('\n');
  return { calls: [{ name: 'save_memory', arguments: { history_entry, memory_update } }] };
};

/** Takes no forced choice, and then answers in plain words. */
const choiceRefusing: StepHandler = (request) => {
  const choice = request.body['tool_choice'];
  if (choice !== undefined && choice !== 'auto') {
    return { error: { status: 400, message: 'tool_choice is not supported by this model' } };
  }
  return `A talk about this and that: ${(asked(request).conversation.match(FACT) ?? []).join(', ')}.`;
};

export const failing: StepHandler = () => ({ error: { status: 400, message: 'this model is out of order' } });

export const DOUBLES = { summarising, 'choice-refusing': choiceRefusing, failing };
export const FILLER =
  'We also spoke of the garden, the long winter, the neighbours and what there was for dinner. '.repeat(4);
