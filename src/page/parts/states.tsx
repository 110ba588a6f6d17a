import type { ComponentChildren, VNode } from 'preact';

/** What went wrong, with what can be done about it. */
export function Problem({ text, again }: { readonly text: string; readonly again?: () => void }): VNode {
  return (
    <div class="state problem" role="alert">
      <p>{text}</p>
      {again === undefined ? null : (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  );
}

/** In place of a list that has nothing. */
export function Empty({ children }: { readonly children: ComponentChildren }): VNode {
  return <p class="state empty">{children}</p>;
}

/** Shown when something takes longer than a moment. */
export function Loading(): VNode {
  return <p class="state loading">Loading …</p>;
}
