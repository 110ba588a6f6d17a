import type { VNode } from 'preact';
import { shown } from '../text/shown.ts';
import { CopyButton } from './copy.tsx';

/** A block of code with a button that copies it. */
export function Code({ text, language }: { readonly text: string; readonly language: string }): VNode {
  return (
    <figure class="code">
      <figcaption>
        <span>{shown(language)}</span>
        <CopyButton text={text} label="Copy code" />
      </figcaption>
      <pre tabIndex={0} aria-label={language === '' ? 'Code' : `Code, ${language}`} role="region">
        <code>{shown(text)}</code>
      </pre>
    </figure>
  );
}
