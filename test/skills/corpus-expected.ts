import type { AllowedTool, SkillRequirements, SkillText } from '../../src/core/skills/skill.ts';

export interface Expected {
  /** The one thing that is odd about it. */
  readonly odd: string;
  /** @default the folder */
  readonly name?: string;
  readonly description: string;
  /** First line of the body. */
  readonly begins: string;
  /** What differs from a skill that says nothing else. */
  readonly facts?: Partial<Omit<SkillText, 'requires'>> & {
    readonly requires?: Partial<SkillRequirements>;
    readonly allowedTools?: readonly AllowedTool[];
  };
  /** Parts of the warnings, in order. */
  readonly warns: readonly string[];
}

/** Front matter that is broken, missing, or framed in an odd way. */
export const ODD_FRAMES: Readonly<Record<string, Expected>> = {
  plain: {
    odd: 'nothing',
    description: 'Keeps a list of plants and when each was watered.',
    begins: '# Plants',
    warns: [],
  },
  'colon-in-value': {
    odd: 'unquoted colons in a value',
    description: 'Use when: the person wants tea, or asks: is there any left?',
    begins: '# Tea',
    warns: ['not valid YAML'],
  },
  'colon-in-name-too': {
    odd: 'a second field that breaks the YAML',
    description: 'Brew: strong',
    begins: 'Brew it.',
    warns: ['not valid YAML'],
  },
  'stray-inner-quotes': {
    odd: 'quotes inside of quotes',
    description: 'Use when somebody says "water the plants" or "is it dry"',
    begins: 'Look at the soil.',
    warns: ['not valid YAML'],
  },
  'quote-never-closed': {
    odd: 'a quote that is never closed',
    description: 'Counts the sheep on a meadow',
    begins: 'One, two, three.',
    facts: { license: 'MIT' },
    warns: ['not valid YAML'],
  },
  'single-quote-apostrophe': {
    odd: 'apostrophes inside of single quotes',
    description: "It's about the neighbour's cat",
    begins: 'Feed it.',
    warns: ['not valid YAML'],
  },
  'first-words-quoted': {
    odd: 'quotes around the first word only',
    description: '"Slow" cooking for people in a hurry',
    begins: 'Put the pot on.',
    warns: ['not valid YAML'],
  },
  'backtick-start': {
    odd: 'a value that begins with a backtick',
    description: '`stew` is cooked with this',
    begins: 'Stir.',
    warns: ['not valid YAML'],
  },
  'at-start': {
    odd: 'a value that begins with @',
    description: '@home tasks, sorted by room',
    begins: 'Begin with the kitchen.',
    warns: ['not valid YAML'],
  },
  'bold-start': {
    odd: 'a value that begins like an alias',
    description: '**Sorts** letters by sender',
    begins: 'Open the box.',
    warns: ['not valid YAML'],
  },
  'brackets-start': {
    odd: 'a value that begins like a list',
    description: '[Draft] Writes a letter to the landlord',
    begins: 'Be polite.',
    warns: ['not valid YAML'],
  },
  'percent-start': {
    odd: 'a value that begins with %',
    description: '%-signs are turned into fractions',
    begins: 'Half is 50%.',
    warns: ['not valid YAML'],
  },
  'tab-indent': {
    odd: 'tabs as indentation',
    description: 'Reads the meter in the cellar',
    begins: 'Go down the stairs.',
    facts: { os: ['darwin', 'win32'], requires: { bins: ['meter'] } },
    warns: ['not valid YAML'],
  },
  'tab-after-colon': {
    odd: 'tabs behind the colons',
    description: 'Finds the shortest way to the lake',
    begins: 'Take the path.',
    warns: [],
  },
  'key-indented-later': {
    odd: 'a field that slipped to the right',
    description: 'Peels an apple in one piece',
    begins: 'Turn it slowly.',
    warns: ['not valid YAML'],
  },
  'no-space-after-colon': {
    odd: 'no space behind the colons',
    description: 'Feeds the fish twice a day',
    begins: 'A pinch is enough.',
    warns: ['not valid YAML'],
  },
  'wide-colon': {
    odd: 'full-width colons',
    description: '给花浇水，并记下日期。',
    begins: '每周两次。',
    warns: ['not valid YAML'],
  },
  'never-closed-prose': {
    odd: 'never closed, prose follows',
    description: 'Folds paper boats',
    begins: 'Take a sheet of paper and fold it once.',
    warns: ['never closed'],
  },
  'never-closed-heading': {
    odd: 'never closed, a heading follows',
    description: 'Folds paper hats',
    begins: '# Hats',
    warns: ['never closed'],
  },
  'never-closed-rule-below': {
    odd: 'never closed, a rule in the body looks like the end',
    description: 'Folds paper planes',
    begins: '# Planes',
    warns: ['never closed'],
  },
  'never-closed-at-once': {
    odd: 'never closed, prose without a blank line',
    description: 'Folds paper stars',
    begins: 'Use a square sheet.',
    warns: ['never closed'],
  },
  'never-closed-only-fields': {
    odd: 'never closed and no body',
    description: 'Folds nothing',
    begins: '',
    warns: ['never closed', 'It has no text after its front matter.'],
  },
  'closed-by-dots': {
    odd: 'closed by three dots',
    description: 'Winds the clock in the hall',
    begins: 'Eight turns.',
    warns: ['Its front matter was read line by line: no line of three hyphens closes it.'],
  },
  'closed-by-many-dashes': {
    odd: 'closed by five hyphens',
    description: 'Sets the table',
    begins: 'Forks to the left.',
    warns: [],
  },
  'heading-behind-closing': {
    odd: 'a heading on the closing line',
    description: 'Clears the table',
    begins: '# Clearing',
    warns: [],
  },
  'opened-by-many-dashes': {
    odd: 'opened by five hyphens',
    description: 'Dries the dishes',
    begins: 'Use a clean cloth.',
    warns: [],
  },
  'opening-with-language': {
    odd: 'yaml named on the opening line',
    description: 'Waters the lawn',
    begins: 'At night.',
    warns: [],
  },
  'field-on-opening-line': {
    odd: 'a field on the opening line',
    description: 'Rakes the leaves',
    begins: 'In autumn.',
    warns: [],
  },
  'never-opened': {
    odd: 'never opened',
    description: 'Sweeps the yard',
    begins: 'Use the big broom.',
    warns: ['Its front matter is not opened with a line of three hyphens.'],
  },
  'blank-lines-first': {
    odd: 'blank lines in front',
    description: 'Shovels snow',
    begins: 'Mind the ice.',
    warns: ['There is text before its front matter.'],
  },
  'comment-first': {
    odd: 'an HTML comment in front',
    description: 'Spreads sand on the path',
    begins: 'Not on the grass.',
    warns: ['There is text before its front matter.'],
  },
  'whole-in-fence': {
    odd: 'all of it in a code fence',
    description: 'Lights the stove',
    begins: 'Open the flue.',
    warns: ['There is text before its front matter.'],
  },
  'fields-in-fence': {
    odd: 'the front matter in a code fence',
    description: 'Cleans the stove',
    begins: 'Wait until it is cold.',
    warns: ['There is text before its front matter.'],
  },
  'no-front-matter': {
    odd: 'no front matter',
    description: 'Bakes bread on Saturdays with this flour. Twelve hours ahead, the dough is made.',
    begins: '# Bread',
    warns: ['no front matter', 'name of its folder is used', 'first words of its text'],
  },
  'only-headings': {
    odd: 'no front matter, headings only',
    description: 'Jam from plums',
    begins: '# Jam from plums',
    warns: ['no front matter', 'name of its folder is used', 'first words of its text'],
  },
  'only-a-list': {
    odd: 'no front matter, a list only',
    description: 'Cut the leek',
    begins: '# Soup',
    warns: ['no front matter', 'name of its folder is used', 'first words of its text'],
  },
  'only-code': {
    odd: 'no front matter, code only',
    description: 'The skill only-code.',
    begins: '```sh',
    warns: ['no front matter', 'name of its folder is used', 'It has no description.'],
  },
  'underlined-heading': {
    odd: 'no front matter; an underlined heading, HTML and a table first',
    description: 'Makes soft cheese from milk.',
    begins: 'Cheese',
    warns: ['no front matter', 'name of its folder is used', 'first words of its text'],
  },
  'rules-and-prose': {
    odd: 'two rules around prose',
    description: 'And more of them.',
    begins: '---',
    warns: ['no front matter', 'name of its folder is used', 'first words of its text'],
  },
  'empty-front-matter': {
    odd: 'empty front matter',
    description: 'Oils the hinges of the gate.',
    begins: 'Oils the hinges of the gate.',
    warns: ['name of its folder is used', 'first words of its text'],
  },
  'comments-only': {
    odd: 'front matter of comments',
    description: 'Paints the fence.',
    begins: 'Paints the fence.',
    warns: ['name of its folder is used', 'first words of its text'],
  },
  'missing-name': {
    odd: 'no name',
    description: 'Mends a torn sleeve',
    begins: 'Thread the needle.',
    warns: ['name of its folder is used'],
  },
  'missing-description': {
    odd: 'no description',
    description: 'Sews a button on, four holes or two.',
    begins: '# Buttons',
    facts: { license: 'MIT' },
    warns: ['first words of its text'],
  },
  'empty-description': {
    odd: 'a description without value',
    description: 'Irons a shirt, collar first.',
    begins: 'Irons a shirt, collar first.',
    warns: ['first words of its text'],
  },
  'empty-quoted-description': {
    odd: 'a description of nothing in quotes',
    description: 'Irons trousers along the crease.',
    begins: 'Irons trousers along the crease.',
    warns: ['first words of its text'],
  },
  'null-name': {
    odd: 'a name that is null',
    description: 'Airs the bedding',
    begins: 'Open the window.',
    warns: ['name of its folder is used'],
  },
};
