/** How documentation begins a text that stands for a secret. */
const BEGINS =
  /^(?:your|my|insert|replace|enter|put|change|example|sample|dummy|fake|placeholder|redacted|some)[^A-Za-z0-9]/i;
/** The documentation of AWS has this in all of its example keys. */
const EXAMPLE = /EXAMPLE/;
const WHOLE =
  /^(?:change-?me|example|placeholder|secret|token|password|passwd|pass|pwd|pw|user|username|key|null|none|undefined|true|false|test)$/i;
/** Something that is filled in later: `$TOKEN`, `${…}`, `{{…}}`, `%s`, `<…>`. */
const TEMPLATE = /^[$<{%(*]/;
const SAME = /([A-Za-z0-9.*])\1{7}/i;
/** Longer values may hold eight equal characters by chance. */
const LONGEST_SAME = 60;
const FEWEST_DIFFERENT = 5;

/** Whether a text that has the shape of a token is a placeholder: `xxxx…`, `your-token-here`. */
export function isPlaceholder(body: string): boolean {
  if (BEGINS.test(body) || EXAMPLE.test(body) || isSame(body)) return true;
  return new Set(body.slice(0, 64).toLowerCase()).size < FEWEST_DIFFERENT;
}

/** Whether a value is a placeholder. For a value that is taken for a secret only because of its name, such as `password=`. */
export function isPlaceholderValue(value: string): boolean {
  return BEGINS.test(value) || EXAMPLE.test(value) || WHOLE.test(value) || TEMPLATE.test(value) || isSame(value);
}

function isSame(text: string): boolean {
  return text.length < LONGEST_SAME && SAME.test(text);
}
