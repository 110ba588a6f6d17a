import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { AnswerInput, AnswerReply, WaitingQuestion } from '../../core/gateway/http/wire.ts';
import { newId } from '../net/ids.ts';
import { post, sentenceOf } from '../net/http.ts';
import { Time } from '../parts/time.tsx';
import { announcement, questions } from '../state/app.ts';
import { hashOf } from '../state/place.ts';
import { Markdown } from '../text/markdown.tsx';
import { plural } from '../text/figures.ts';
import { shown } from '../text/shown.ts';

/** What waits for the person, with what exactly would happen. */
export function Questions({ session }: { readonly session: string }): VNode | null {
  const here = questions.value.filter((question) => question.session === session);
  const elsewhere = questions.value.filter((question) => question.session !== session);
  const first = elsewhere[0];
  return (
    <>
      {here.length === 0 ? null : (
        <div class="questions">
          {here.map((question) => (
            <Question key={question.code} question={question} />
          ))}
        </div>
      )}
      {first === undefined ? null : (
        <p class="note">
          {plural(elsewhere.length, 'question waits', 'questions wait')} in{' '}
          <a href={hashOf({ session: first.session })}>another conversation</a>.
        </p>
      )}
    </>
  );
}

function Question({ question }: { readonly question: WaitingQuestion }): VNode {
  const { code, kind, title, detail, reason, choices, always, deadline } = question;
  const [isBusy, busy] = useState(false);
  const [problem, say] = useState('');
  const [text, write] = useState('');
  const answer = async (decision: AnswerInput['decision'], words = text): Promise<void> => {
    busy(true);
    say('');
    try {
      const body = { id: newId(), code, decision, ...(words === '' ? {} : { text: words }) };
      const { reply } = await post<AnswerReply>('/api/answers', body);
      announcement.value = reply;
    } catch (error) {
      say(sentenceOf(error));
    }
    busy(false);
  };
  const label = `question-${code}`;
  return (
    <section class="question" aria-labelledby={label}>
      <h2 id={label}>{kind === 'ask' ? <Markdown text={title} /> : shown(title)}</h2>
      {detail === '' ? null : (
        <pre tabIndex={0} role="region" aria-label="What would be done">
          {shown(detail)}
        </pre>
      )}
      {reason === '' ? null : <p class="faint">{shown(reason)}</p>}
      {kind === 'ask' ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== '') void answer('answer', text.trim());
          }}
        >
          <p class="buttons">
            {choices.map((choice) => (
              <button key={choice} type="button" disabled={isBusy} onClick={() => void answer('answer', choice)}>
                {shown(choice)}
              </button>
            ))}
          </p>
          <p class="row">
            <input
              type="text"
              aria-label="Your answer"
              placeholder="Your answer"
              value={text}
              onInput={(event) => write(event.currentTarget.value)}
            />
            <button type="submit" class="main" disabled={isBusy || text.trim() === ''}>
              Answer
            </button>
          </p>
        </form>
      ) : (
        <>
          <p class="buttons">
            <button type="button" class="main" disabled={isBusy} onClick={() => void answer('approve', '')}>
              Allow once
            </button>
            {always === null ? null : (
              <button type="button" disabled={isBusy} onClick={() => void answer('always', '')}>
                Always allow
              </button>
            )}
            <button type="button" disabled={isBusy} onClick={() => void answer('deny')}>
              Do not allow
            </button>
          </p>
          {always === null ? null : (
            <p class="faint">
              “Always allow” is for <code>{shown(always)}</code>.
            </p>
          )}
        </>
      )}
      <p class="faint">
        Without an answer it is refused <Time at={deadline} />.
      </p>
      {problem === '' ? null : (
        <p class="bad" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}
