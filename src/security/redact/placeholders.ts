/** How documents begin what they write where a secret would stand. */
const BEGINS =
  /^(?:your|my|insert|replace|enter|put|change|example|sample|dummy|fake|placeholder|redacted|some)[^A-Za-z0-9]/i;
/** What the documents of a provider use for all their examples. */
const EXAMPLE = /EXAMPLE/;
const WHOLE =
  /^(?:change-?me|example|placeholder|secret|token|password|passwd|pass|pwd|pw|user|username|key|null|none|undefined|true|false|test)$/i;
/** Something that is filled in later: `$TOKEN`, `${…}`, `{{…}}`, `%s`, `<…>`. */
const TEMPLATE = /^[$<{%(*]/;
const SAME = /([A-Za-z0-9.*])\1{7}/i;
/** Longer values may hold eight equal characters by chance. */
const LONGEST_SAME = 60;
const FEWEST_DIFFERENT = 5;

/** Whether what has the shape of a token is none: `xxxx…`, `your-token-here`. */
export function isPlaceholder(body: string): boolean {
  if (BEGINS.test(body) || EXAMPLE.test(body) || isSame(body)) return true;
  return new Set(body.slice(0, 64).toLowerCase()).size < FEWEST_DIFFERENT;
}

/** The same for a value that is known by its place alone, where every word could stand. */
export function isPlaceholderValue(value: string): boolean {
  return BEGINS.test(value) || EXAMPLE.test(value) || WHOLE.test(value) || TEMPLATE.test(value) || isSame(value);
}

function isSame(text: string): boolean {
  return text.length < LONGEST_SAME && SAME.test(text);
}
