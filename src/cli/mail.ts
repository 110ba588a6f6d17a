import type { RequestName, RequestResult } from '../gateway/requests.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

type Flags = Readonly<Record<string, unknown>>;
type Item = RequestResult<'outboxList'>[number] | RequestResult<'inboxList'>[number];

/** `assistant outbox [list]`. */
export function outboxListCommand(flags: Flags, context: CliContext): Promise<number> {
  return list('outboxList', 'Everything was delivered.', flags, context);
}

/** `assistant inbox [list]`. */
export function inboxListCommand(flags: Flags, context: CliContext): Promise<number> {
  return list('inboxList', 'Everything was answered.', flags, context);
}

/** `assistant outbox|inbox retry|drop ID`: what a request of this name does. */
export function mailCommand(name: 'outboxRetry' | 'outboxDrop' | 'inboxRetry' | 'inboxDrop', confirmation: string) {
  return async (flags: Flags, context: CliContext, [id = '']: readonly string[]): Promise<number> => {
    await using assistant = await openAssistant(context, textFlag(flags, 'home'));
    await assistant.port.request(name, { id });
    context.stdout.write(flags['json'] === true ? `${json({ id }, 0)}\n` : `${confirmation}\n`);
    return 0;
  };
}

async function list(
  name: Extract<RequestName, 'outboxList' | 'inboxList'>,
  nothing: string,
  flags: Flags,
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const items: readonly Item[] = await assistant.port.request(name, {});
  const lines = items.map((item) => {
    const { id, channel, chat, state, reason, createdAt, text } = item;
    const at = new Date(createdAt).toISOString().slice(0, 16).replace('T', ' ');
    const why = reason === null ? '' : `\n    ${reason}`;
    return `${id}  ${at} UTC  ${state.padEnd(9)}  ${channel}:${chat}${'who' in item ? ` ${item.who}` : ''}  ${text}${why}`;
  });
  const shown = flags['json'] === true ? json(items) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${shown === '' ? nothing : shown}\n`);
  return 0;
}
