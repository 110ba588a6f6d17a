import type { RequestName, RequestResult } from '../../core/gateway/operations/operations.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { localMinute } from '../../core/util/time-zone.ts';
import { json as jsonText } from '../../core/cli/format.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

type Item = RequestResult<'outboxList'>[number] | RequestResult<'inboxList'>[number];

/** `assistant outbox [list]`. */
export function outboxListCommand(flags: OutputFlags, context: CliContext): Promise<number> {
  return list('outboxList', 'Everything was delivered.', flags, context);
}

/** `assistant inbox [list]`. */
export function inboxListCommand(flags: OutputFlags, context: CliContext): Promise<number> {
  return list('inboxList', 'Everything was answered.', flags, context);
}

/** `assistant outbox|inbox retry|drop ID`: what a request of this name does. */
export function mailCommand(name: 'outboxRetry' | 'outboxDrop' | 'inboxRetry' | 'inboxDrop', confirmation: string) {
  return async ({ id, home, json }: OutputFlags & { readonly id: string }, context: CliContext): Promise<number> => {
    await using assistant = await openAssistant(context, home);
    await assistant.port.call(name, { id });
    context.stdout.write(json ? `${jsonText({ id }, 0)}\n` : `${confirmation}\n`);
    return 0;
  };
}

async function list(
  name: Extract<RequestName, 'outboxList' | 'inboxList'>,
  nothing: string,
  { home, json }: OutputFlags,
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const zone = await zoneOf(context, home);
  const items: readonly Item[] = await assistant.port.call(name, {});
  const lines = items.map((item) => {
    const { id, channel, chat, state, reason, createdAt, text } = item;
    const why = reason === null ? '' : `\n    ${reason}`;
    return `${id}  ${localMinute(createdAt, zone)}  ${state.padEnd(9)}  ${channel}:${chat}${'who' in item ? ` ${item.who}` : ''}  ${text}${why}`;
  });
  print(context, json, { facts: items, lines, nothing });
  return 0;
}
