import type { ComponentChildren, VNode } from 'preact';
import { useState } from 'preact/hooks';
import { sentenceOf } from '../net/http.ts';
import { announcement } from '../state/app.ts';

interface Props {
  readonly run: () => Promise<unknown>;
  readonly children: ComponentChildren;
  readonly class?: string;
  /** What screen readers hear, where the words on it do not name its object. */
  readonly label?: string;
  /** Said when it has worked. */
  readonly done?: string;
  /** It is asked for twice: the words of the second press. */
  readonly sure?: string;
  readonly disabled?: boolean;
}

/** A button that does something which may fail; why it failed stands beside it. */
export function Action({ run, children, label, done, sure, disabled = false, class: className = '' }: Props): VNode {
  const [state, set] = useState<'idle' | 'sure' | 'busy'>('idle');
  const [problem, say] = useState('');
  const press = async (): Promise<void> => {
    if (sure !== undefined && state === 'idle') return set('sure');
    set('busy');
    say('');
    try {
      await run();
      if (done !== undefined) announcement.value = done;
    } catch (error) {
      say(sentenceOf(error));
    }
    set('idle');
  };
  const words = state === 'sure' ? sure : children;
  return (
    <>
      <button
        type="button"
        class={state === 'sure' ? `${className} danger` : className}
        disabled={disabled || state === 'busy'}
        aria-label={state === 'sure' ? undefined : label}
        onClick={() => void press()}
        onBlur={() => state === 'sure' && set('idle')}
      >
        {words}
      </button>
      {problem === '' ? null : (
        <span class="bad" role="alert">
          {problem}
        </span>
      )}
    </>
  );
}
