import { fold, singlesOf, wordsOf } from '../search/words.ts';
import { isTelling } from '../search/stop-words.ts';
import { saidIn } from './conversation-text.ts';
import type { TurnSpan } from './session-span.ts';

/** Beginnings of refusals and apologies. A log entry speaks about people, so it never begins so. */
const BEGINNINGS = [
  /(?:i['’]?m|i am|we['’]?re|we are) (?:(?:so|very|really|truly) )?(?:sorry|afraid|unable|not able)\b/u,
  /(?:i|we) (?:can['’]?t|can ?not|won['’]?t|will not|must decline|apologi[sz]e)\b/u,
  /(?:sorry|my apologies|apologies|as an ai)\b|unfortunately,? (?:i|we)\b/u,
  /(?:es )?tut mir leid|ich kann\b|leider kann|entschuldig/u,
  /(?:je suis )?désolé|je ne p|lo siento|no puedo|desculp|não posso|mi dispiace|non posso/u,
  /(?:很|非常)?(?:抱歉|对不起)|我(?:无法|不能)|申し訳|すみません|ごめん|죄송/u,
];
const REFUSES = new RegExp(`^[^\\p{L}]*(?:${BEGINNINGS.map(({ source }) => source).join('|')})`, 'iu');

/** What models say in any chat; two texts that share only such words have nothing in common. */
const CHATTY: ReadonlySet<string> = new Set(
  'answer apologize apologies assist assistance assistant cannot certainly chat complete completed content conversation course glad happy hello help here memory need needed please provide questions request save sorry summarize summary sure text today unable unfortunately welcome'.split(
    ' ',
  ),
);
const SHORTEST_WORD = 4;

/** Whom a log entry speaks about. */
const ABOUT =
  /\b(?:owner|user|they|he|she|guest|assistant|besitzer|nutzer|benutzer|utilisateur|usuari[oa]|propriétaire|propietario|utente|utilizador)\b|主人|用户|用戶|ユーザー|オーナー|사용자/iu;
/** Talk to somebody, which a log entry never is, except in quotes. */
const ADDRESSES =
  /(?<![\p{L}'’])(?:you|yours?|yourself|let me know|dich|dir|dein\p{L}*|euch|euer|vous|votre|vos|usted|tú|você|dimmi)(?![\p{L}])|[你您]|あなた|당신|[!！](?:\s|$)/iu;
const QUOTED = /"[^"\n]*"|“[^”\n]*”|«[^»\n]*»|„[^“\n]*“|「[^」\n]*」/gu;
/** “Sure! Here's a summary of the conversation:” */
const PREAMBLE = /^(?:\w+[!,.] )?[^:!\n]{0,60}\bsummary\b[^:!\n]{0,60}:/iu;
/** The part of its words that a text shares with what it sums up, unless it speaks about people. */
const LEAST_SHARED = 0.5;

/** Whether a text is a refusal or an apology, judged by how it begins. */
export function isRefusal(text: string): boolean {
  return REFUSES.test(text);
}

/**
 * Whether plain text of a model may be saved as the summary of these turns. It must speak about people and name something
 * that was said there, or repeat most of it, and talk to nobody. When in doubt, false, because then nothing is lost.
 */
export function isUsableSummary(text: string, turns: readonly TurnSpan[], note: string | null): boolean {
  const own = text.trim().replace(PREAMBLE, '').replaceAll(QUOTED, ' ');
  if (isRefusal(text) || /[?？]\s*$/u.test(text) || ADDRESSES.test(own)) return false;
  const said = [...turns.map(saidIn), note ?? ''].join('\n');
  const folded = fold(said);
  const singles = singlesOf(said);
  const words = new Set(wordsOf(text.trim().replace(PREAMBLE, '')).filter(isName));
  const pairs = new Set(pairsOf(text));
  const shared = [
    ...[...words].filter((word) => folded.includes(stemOf(word))),
    ...[...pairs].filter((pair) => singles.includes(pair)),
  ];
  if (shared.length === 0) return false;
  return ABOUT.test(own) || (shared.length > 1 && shared.length >= LEAST_SHARED * (words.size + pairs.size));
}

/** Whether a word may name something: not what models say in any chat. */
function isName(word: string): boolean {
  const isLong = word.length >= SHORTEST_WORD || /\d/u.test(word);
  return isLong && !CHATTY.has(word) && isTelling([{ kind: 'word', text: word }]);
}

/** A word without its ending, roughly: “counted” names what “count” did. */
function stemOf(word: string): string {
  return word.slice(0, Math.max(SHORTEST_WORD, word.length - 2));
}

/** Neighbouring characters of scripts that don't separate words. */
function pairsOf(text: string): readonly string[] {
  const singles = singlesOf(text).split(' ');
  return singles
    .slice(1)
    .map((single, at) => `${singles[at]} ${single}`)
    .filter((pair) => isTelling([{ kind: 'singles', text: pair }]));
}
