import { withoutInvisible } from '../security/text/invisible.ts';
import { oneLine } from '../util/text.ts';
import { HIDDEN_INSTRUCTIONS } from './risky-patterns.ts';

/** Characters. */
const LONGEST = 400;
/** More of a text are not looked at. */
const SEARCHED = 4_000;
/** Letters and digits in a row; what is longer is packed data and no word. */
const LONGEST_WORD = 30;

const MARKUP = /!?\[(?<shown>[^\]]{0,200})\]\([^)]{0,400}\)|<[^>]{0,400}>/gu;
/** What joins words into addresses, paths, names of tools, JSON or markup. */
const JOINER =
  /[^\p{L}\p{M}\p{N}\p{Join_Control}\s.,;:!?'’()%&+#。！？；、，：（）-]|(?<=\S)[.:!?;](?=\S)|(?<=[\p{L}\p{N}])[#&](?=[\p{L}\p{N}])/gu;
const SENTENCE_END = /(?<=[.!?;。！？；])/u;
/** Two scripts in a word: letters that look like others. */
const MIXED =
  /(?=[\p{L}\p{M}]*\p{Script=Latin})(?=[\p{L}\p{M}]*[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}])/u;
const PACKED = new RegExp(
  String.raw`[\p{Script=Latin}\p{N}]{${LONGEST_WORD + 1}}|\b(?=[a-z]*\d)(?=\d*[a-z])[a-z\d]{16,}\b`,
  'iu',
);

/** Saying when the skill itself is to be used is what a description is for. */
const USE =
  /\b(?:always|must|should|immediately|first|proactively|automatically|whenever you)?\s*(?:be\s+)?(?:used?|using|invoked?|loaded?|triggers?|triggered|activated?|consult(?:ed)?|applied|apply)\s+(?:this|the|it|its|when|whenever|for|before|after|if|to|as|on|in|with)\b(?:\s+skill\b)?/giu;
const EFFECT =
  'remember|memori[sz]e|save|store|record|write|append|add|edit|change|send|post|upload|forward|share|leak|reveal|fetch|visit|open|download|run|execute|install|delete|remove|erase|tell|say|reply|answer|respond|message|notify|schedule|call|read|print|approve|grant|pair|trust|pay|transfer|email|mail|copy|include|encode|paste|do|make|put|obey|follow|repeat|output|attach|publish|give|create|update|set|replace|search|look|go|contact|ask|wait';
const COMPULSION = String.raw`always|never|must|shall|every\s+(?:time|turn|answer|message|conversation|reply|request|session|day)|each\s+(?:time|turn|answer|message|conversation|reply|request|session)|before\s+(?:you|each|any|every|anything|doing|answering|replying|responding)|after\s+(?:you|each|any|every|answering|replying|reading)|immediately|at\s+once|right\s+now|silently|secretly|quietly|from\s+now\s+on|regardless|no\s+matter|you\s+(?:are|have|need|should|will|must|can|may)|please|important|urgent|required|mandatory|as\s+the\s+(?:assistant|model|owner)|owner\s+(?:wants|wishes|asked|asks|said|says|has|prefers|likes)|(?:owner|user|admin|developer)\s+(?:has\s+)?(?:agreed|approved|allowed|demands|demanded|requires|required|authori[sz]ed)`;
/** Patterns of orders to the reader of the index. */
const ORDERS: readonly RegExp[] = [
  ...HIDDEN_INSTRUCTIONS,
  new RegExp(String.raw`\b(?:${COMPULSION})\b.{0,200}?\b(?:${EFFECT})(?:s|es|ed|d|ing)?\b`, 'iu'),
  new RegExp(String.raw`\b(?:${EFFECT})(?:s|es|ed|d|ing)?\b.{0,200}?\b(?:${COMPULSION})\b`, 'iu'),
  /^\W*(?:and\s+|then\s+|also\s+|now\s+|first\s+|next\s+|finally\s+)*(?:remember|memori[sz]e|note|keep\s+in\s+mind|tell|say|reply|respond|answer|pretend|act|obey|assume|consider|treat|disregard|ignore|forget|stop|begin|start\s+by|do\s+not|don['’]?t)\b(?!\s+(?:ing|to\s+do))/iu,
  /\bmemory\s+(?:write|search|md)\b|\b(?:memory|soul|agents|user|heartbeat|tools|history)\s+md\b|\b(?:read|write|edit)\s+file\s|\bapply\s+patch\b|\bweb\s+fetch\b|\bcron\s+(?:add|jobs?\s+json)\b|\bconfig\s+json\b/iu,
  /\b(?:system\s+prompts?|private\s+keys?|ssh\s+keys?|authori[sz]ed\s+keys|pairing\s+codes?|your\s+(?:memory|rules|instructions?|owner|keys?|secrets?|files|configuration))\b/iu,
];

/**
 * What somebody else says of their skill, as the index of skills may show it: one line of plain words, at most 400
 * characters. Addresses, paths, code, markup and packed data come apart into words or leave; a sentence that orders the
 * reader about leaves as a whole. Empty when nothing is left. Linear in the first 4,000 characters of the text.
 */
export function plainDescription(text: string): string {
  const visible = withoutInvisible(text.slice(0, SEARCHED).normalize('NFKC')).text;
  const words = visible.replace(MARKUP, ' $<shown> ').replace(JOINER, ' ');
  const kept = words
    .split(SENTENCE_END)
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence) && !isOdd(oneLine(sentence, SEARCHED)));
  return oneLine(kept.join('').replace(/\s+(?=[.,;:!?)])|(?<=\()\s+/gu, ''), LONGEST);
}

/** What a skill lacks, as one phrase of ordinary words (`program gh`). */
export function plainNeed(need: string): string {
  const isPlain = /^(?:program|variable|setting|system)(?: [\w./+-]{1,40}){1,12}$/u.test(need);
  return isPlain ? need : 'something with an odd name';
}

/** Whether a path says nothing but where something lies. */
export function isPlainPath(path: string): boolean {
  return /^(?:\/[\w.@+-]{1,64})+$/u.test(path);
}

function isOdd(sentence: string): boolean {
  if (PACKED.test(sentence) || sentence.split(' ').some((word) => MIXED.test(word))) return true;
  const rest = sentence.replace(USE, ' ');
  return ORDERS.some((order) => order.test(rest));
}
