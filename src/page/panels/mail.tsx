import type { VNode } from 'preact';
import { operation } from '../net/http.ts';
import { Action } from '../parts/action.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Problem } from '../parts/states.tsx';
import { minute, Time } from '../parts/time.tsx';
import { changes } from '../state/app.ts';
import { shown } from '../text/shown.ts';

type Direction = 'inbox' | 'outbox';

const GIVEN_UP: Readonly<Record<Direction, string>> = { inbox: 'not answered', outbox: 'not delivered' };

/** Messages that wait, were given up or did not arrive. */
export function Mail(): VNode {
  const { value, problem, again } = useLoaded(async () => {
    const [sent, received] = await Promise.all([operation('outboxList', {}), operation('inboxList', {})]);
    return [
      ...sent.map((item) => ({ direction: 'outbox' as const, ...item })),
      ...received.map((item) => ({ direction: 'inbox' as const, ...item })),
    ];
  }, [changes('mail').value, minute.value]);
  if (problem !== undefined) return <Problem text={problem} again={again} />;
  if (value?.length === 0) return <Empty>No message waits, and none was lost.</Empty>;
  return (
    <ul class="cards">
      {value?.map(({ direction, id, channel, chat, state, reason, createdAt, text }) => (
        <li key={`${direction}:${id}`}>
          <div class="row wrap">
            <span>
              {shown(text)}
              <span class="faint block">
                {direction === 'outbox' ? 'to' : 'from'} {shown(channel)} {shown(chat)} ·{' '}
                {state === 'dead' ? GIVEN_UP[direction] : shown(state)} · <Time at={createdAt} />
              </span>
            </span>
            <Action class="quiet" run={() => act(direction, 'Retry', id).then(again)} label="Try again: this message">
              Try again
            </Action>
            <Action
              class="quiet"
              sure="Drop it?"
              run={() => act(direction, 'Drop', id).then(again)}
              label="Drop this message"
            >
              Drop
            </Action>
          </div>
          {reason === null ? null : <p class="faint">{shown(reason)}</p>}
        </li>
      ))}
    </ul>
  );
}

async function act(direction: Direction, what: 'Retry' | 'Drop', id: string): Promise<void> {
  await operation(`${direction}${what}`, { id });
}
