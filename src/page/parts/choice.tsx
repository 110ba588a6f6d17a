import type { VNode } from 'preact';

interface Props {
  readonly label: string;
  /** What each is called inside, and its words. */
  readonly options: readonly (readonly [string, string])[];
  readonly value: string;
  readonly choose: (value: string) => void;
}

/** One of a few. */
export function Choice({ label, options, value, choose }: Props): VNode {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      <span class="faint" aria-hidden="true">
        {label}
      </span>
      <div>
        {options.map(([name, words]) => (
          <label key={name}>
            <input type="radio" name={label} value={name} checked={name === value} onChange={() => choose(name)} />
            <span>{words}</span>
          </label>
        ))}
      </div>
    </div>
  );
}
