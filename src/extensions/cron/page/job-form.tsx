import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { cronOperation } from '../operation.ts';
import { operation, sentenceOf, type RequestParams, type AnswerOf } from '../../../page/api.ts';

export type Job = AnswerOf<typeof cronOperation>['jobs'][number];
type Draft = NonNullable<RequestParams<'cron'>['job']>;
type Kind = Draft['kind'];

const KINDS: Readonly<Record<Kind, string>> = {
  agent: 'A task for the assistant',
  message: 'A text, sent as it is',
  command: 'A comma command',
};

function isKind(text: string): text is Kind {
  return Object.hasOwn(KINDS, text);
}

/** A new job, or another text and time for one. */
export function JobForm({ job, close }: { readonly job: Job | undefined; readonly close: () => void }): VNode {
  const [problem, say] = useState('');
  const submit = async (form: HTMLFormElement): Promise<void> => {
    const data = new FormData(form);
    const [when, text, kind] = [field(data, 'when'), field(data, 'text'), field(data, 'kind')];
    if (!isKind(kind)) return;
    try {
      const draft: Draft = { when, text, kind };
      if (job === undefined) await operation('cron', { action: 'add', job: { ...draft, zone: ownZone() } });
      else
        await operation('cron', {
          action: 'replace',
          id: job.id,
          job: { ...draft, chat: job.chat, session: job.session },
        });
      close();
    } catch (error) {
      say(sentenceOf(error));
    }
  };
  return (
    <form
      class="form"
      aria-label={job === undefined ? 'New job' : `Edit ${job.id}`}
      onSubmit={(event) => {
        event.preventDefault();
        void submit(event.currentTarget);
      }}
    >
      <label>
        What
        <textarea name="text" class="text short" required autofocus>
          {job?.text ?? ''}
        </textarea>
      </label>
      <label>
        When
        <input
          type="text"
          name="when"
          required
          placeholder="tomorrow at 9, every 2h, 0 9 * * 1-5"
          defaultValue={job?.when ?? ''}
        />
      </label>
      <label>
        Kind
        <select name="kind" defaultValue={job?.kind ?? 'agent'}>
          {Object.entries(KINDS).map(([kind, words]) => (
            <option key={kind} value={kind} selected={kind === (job?.kind ?? 'agent')}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {problem === '' ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
      <p class="buttons">
        <button type="submit" class="main">
          Save
        </button>
        <button type="button" onClick={close}>
          Cancel
        </button>
      </p>
    </form>
  );
}

function field(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === 'string' ? value.trim() : '';
}

/** The time zone of this browser, which is where its person is. */
function ownZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}
