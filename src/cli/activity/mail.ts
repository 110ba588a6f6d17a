import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing } from '../../core/cli/asking.ts';

type Item = RequestResult<'outboxList'>[number] | RequestResult<'inboxList'>[number];

/** `assistant outbox [list]`, `assistant inbox [list]`. */
export function mailLines(items: readonly Item[], { minute }: Pick<Showing<unknown>, 'minute'>): readonly string[] {
  return items.map((item) => {
    const { id, channel, chat, state, reason, createdAt, text } = item;
    const why = reason === null ? '' : `\n    ${reason}`;
    return `${id}  ${minute(createdAt)}  ${state.padEnd(9)}  ${channel}:${chat}${'who' in item ? ` ${item.who}` : ''}  ${text}${why}`;
  });
}
