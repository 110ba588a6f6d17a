import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { EntryPage, HistoryItem } from '../../core/gateway/http/wire.ts';
import { ask, sentenceOf } from '../net/http.ts';
import { conversation } from '../state/app.ts';
import { shown } from '../text/shown.ts';

/** The rest of a text that is too long for the list, a page at a time and one page at once. */
export function LongText({ item }: { readonly item: HistoryItem }): VNode {
  const [page, show] = useState<EntryPage & { readonly offset: number }>();
  const [problem, say] = useState('');
  const load = async (offset: number): Promise<void> => {
    const session = encodeURIComponent(conversation.value.session);
    const query = new URLSearchParams({ item: item.id, offset: String(offset) });
    try {
      const loaded = await ask<EntryPage>(
        `/api/sessions/${session}/entries/${encodeURIComponent(item.entry)}?${query}`,
      );
      show({ ...loaded, offset });
      say('');
    } catch (error) {
      say(sentenceOf(error));
    }
  };
  const next = page?.next;
  return (
    <div class="long">
      {page === undefined ? (
        <p>
          <span class="faint">This text is longer.</span>{' '}
          <button type="button" class="quiet" onClick={() => void load(0)}>
            Show all of it
          </button>
        </p>
      ) : (
        <>
          <pre tabIndex={0} role="region" aria-label="The whole text">
            {shown(page.text)}
          </pre>
          <p>
            {page.offset > 0 ? (
              <button type="button" class="quiet" onClick={() => void load(0)}>
                From the start
              </button>
            ) : null}
            {typeof next === 'number' ? (
              <button type="button" class="quiet" onClick={() => void load(next)}>
                Next part
              </button>
            ) : null}
          </p>
        </>
      )}
      {problem === '' ? null : <p class="bad">{problem}</p>}
    </div>
  );
}
