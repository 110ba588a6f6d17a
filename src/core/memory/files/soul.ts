import { withoutFence } from '../../util/text.ts';
import { headingOf } from './facts.ts';

/** What SOUL.md always has, as headings. */
const SOUL_SECTIONS = ['Personality', 'Values', 'Communication Style'] as const;

const SHORTEST = 10;
/** Characters; a longer file would be cut in the prompt. */
const LONGEST = 20_000;

const EMPTY_SOUL = `# Soul\n\n${SOUL_SECTIONS.map((section) => `## ${section}\n`).join('\n')}`;

/** What a model is asked so that a wish becomes part of SOUL.md. */
export function soulQuestion(soul: string, wish: string): { readonly system: string; readonly text: string } {
  return {
    system: `You edit SOUL.md, the file that says who a personal assistant is. You are given its text and a wish of the owner. Work the wish into the section that it belongs to, and change what contradicts it. Keep everything else word by word. Keep the headings ${SOUL_SECTIONS.join(', ')}. Write in the language of the file, briefly, about the assistant. Answer with the whole new text of the file and nothing else: no explanation, no code fence.`,
    text: `<file>\n${fenced(soul.trim() === '' ? EMPTY_SOUL : soul.trim())}\n</file>\n\n<wish>\n${fenced(wish)}\n</wish>`,
  };
}

export type ReadSoul = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string };

/** The new text of SOUL.md that a model answered with, if it is one. */
export function readSoul(answer: string): ReadSoul {
  const text = withoutFence(answer);
  if (text.length < SHORTEST) return { ok: false, problem: 'the model gave back next to nothing' };
  if (text.length > LONGEST) return { ok: false, problem: 'the new text would be longer than 20,000 characters' };
  const headings = new Set(text.split('\n').map((line) => headingOf(line)?.text.toLowerCase()));
  const missing = SOUL_SECTIONS.filter((section) => !headings.has(section.toLowerCase()));
  if (missing.length > 0) return { ok: false, problem: `the section ${missing.join(' and ')} would be lost` };
  return { ok: true, text: `${text}\n` };
}

function fenced(text: string): string {
  return text.replaceAll(/<(?=\/?(?:file|wish)>)/giu, '‹');
}
