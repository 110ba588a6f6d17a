import type { Step } from '../support/model-script.ts';

/** One line of a transcript. */
export type Line =
  | { readonly type: 'you' | 'hears' | 'tool' | 'file'; readonly text: string }
  | { readonly type: 'passes'; readonly minutes: number }
  /** What the model, or a subagent's, does; `silent` words are not heard in the chat by themselves. */
  | { readonly type: 'model' | 'subagent'; readonly step: Step };

/** The transcripts of a page, in order. Throws at a line that it does not know. */
export function transcriptsOf(markdown: string): readonly (readonly Line[])[] {
  return [...markdown.matchAll(/^```transcript\n(?<body>[\s\S]*?)^```$/gmu)].map((match) =>
    (match.groups?.['body'] ?? '').trimEnd().split('\n').map(lineOf),
  );
}

function lineOf(text: string): Line {
  const found = /^(?<who>you|assistant) › (?<words>.*)$/u.exec(text)?.groups;
  if (found !== undefined) return { type: found['who'] === 'you' ? 'you' : 'hears', text: found['words'] ?? '' };
  const minutes = /^\((?<n>\d+) minutes pass\)$/u.exec(text)?.groups?.['n'];
  if (minutes !== undefined) return { type: 'passes', minutes: Number(minutes) };
  const file = /^\(HEARTBEAT\.md is: (?<words>.*)\)$/u.exec(text)?.groups?.['words'];
  if (file !== undefined) return { type: 'file', text: file };
  const tool = /^ {4}tool says (?<words>.*)$/u.exec(text)?.groups?.['words'];
  if (tool !== undefined) return { type: 'tool', text: tool };
  const step = /^ {4}(?<who>model|subagent) (?:says (?<words>.*)|calls (?<name>\w+) (?<given>\{.*\}))$/u.exec(text);
  const { who, words, name, given } = step?.groups ?? {};
  if (who !== 'model' && who !== 'subagent') throw new Error(`no line of a transcript: ${text}`);
  return { type: who, step: words ?? { calls: [{ name: name ?? '', arguments: given ?? '{}' }] } };
}
