import * as z from 'zod';

/** Keys that `press` knows: none of them writes a letter, because what is typed is asked about. */
const KEYS: ReadonlySet<string> = new Set(
  'Enter Escape Tab Backspace Delete Space ArrowUp ArrowDown ArrowLeft ArrowRight PageUp PageDown Home End'.split(' '),
);

const LONGEST_TEXT = 10_000;
/** Of an element in a snapshot. */
const ref = z.string().regex(/^[a-z0-9]{1,20}$/iu);

export const DESCRIPTION =
  'Use a web page in a real browser, with its scripts, forms and logins. To read a page or find one use web_fetch or web_search. Returns the page as a tree of its elements; those that can be used have a ref. Load the skill browser before the first use.';

export const parameters = z.object({
  action: z
    .enum([
      'open',
      'snapshot',
      'click',
      'type',
      'select',
      'press',
      'back',
      'scroll',
      'screenshot',
      'download',
      'upload',
      'close',
    ])
    .describe(
      'What to do: open url; snapshot looks again; click, type text into or select text in the element ref; press a key; back; scroll down, or up with text: up; screenshot shows a picture; download url into a file; upload path; close ends it.',
    ),
  url: z
    .string()
    .trim()
    .min(1)
    .optional()
    .describe('Required for open and download: the address, e.g. https://example.org/form.'),
  ref: ref
    .optional()
    .describe('Required for click, type and select: the ref of an element in the newest result, e.g. e12.'),
  text: z
    .string()
    .max(LONGEST_TEXT)
    .optional()
    .describe('Required for type, select and press: the text, the option, or the key such as Enter.'),
  path: z
    .string()
    .min(1)
    .optional()
    .describe('Required for upload: a file, e.g. letter.pdf. For download: where it goes. Default: downloads.'),
  fields: z
    .array(
      z.object({
        ref: ref.describe('The ref of one field, e.g. e7.'),
        text: z.string().max(LONGEST_TEXT).describe('The text to type into this field.'),
      }),
    )
    .min(1)
    .max(30)
    .optional()
    .describe('Several fields to type into at once, in the place of ref and text. Default: none.'),
  submit: z.boolean().optional().describe('For type: true presses Enter at the end. Default: false.'),
  allowSending: z
    .boolean()
    .optional()
    .describe('For open: true asks the owner about what the page sends while it loads. Default: false.'),
});

export type BrowserParams = z.infer<typeof parameters>;

/** What an action cannot do without. */
const NEEDS: Partial<Record<BrowserParams['action'], readonly (keyof BrowserParams)[]>> = {
  open: ['url'],
  download: ['url'],
  click: ['ref'],
  select: ['ref', 'text'],
  upload: ['path'],
};

/** What a call lacks, as a sentence; null: nothing. */
export function missing(params: BrowserParams): string | null {
  const { action, ref, text, fields } = params;
  const needs = NEEDS[action] ?? [];
  if (needs.some((field) => params[field] === undefined)) return `The action ${action} needs ${needs.join(' and ')}.`;
  if (action === 'type' && fields === undefined && (ref === undefined || text === undefined))
    return 'The action type needs ref and text, or fields.';
  if (action === 'press' && !KEYS.has(text ?? ''))
    return `The action press needs text with one of these keys: ${[...KEYS].join(', ')}.`;
  return null;
}
