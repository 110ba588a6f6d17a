import { APPROVAL_BUTTONS, CHOICE_BUTTON, TEXT_OF_CHOICE } from '../../bus/buttons.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { Interpreter, OpenQuestions, QuestionHere, Ruling } from '../../journal/answers.ts';
import type { QuestionRow } from '../../journal/questions.ts';
import { isStopRequest } from '../../journal/stop.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { cut, oneLine, plural } from '../../util/text.ts';

type Verdict = 'approve' | 'always' | 'deny';

/** An answer to an approval question. */
interface Answer {
  readonly verdict: Verdict;
  /** The code of the question as the person wrote it; null: the question that waits in this chat. */
  readonly code: string | null;
  readonly reason: string;
}

/** Reads a message as an answer to a question: `/approve`, `/deny`, buttons, choices, plain text. Null: it is no answer. */
export const readAnswer: Interpreter = (message, open) => {
  if (message.action?.id.startsWith(CHOICE_BUTTON) === true) return chosen(message, open, message.action.id);
  const answer = answerIn(message);
  return answer === null ? inWords(message, open) : settle(message, open, answer);
};

function answerIn({ action, text, untrusted, origin }: InboundMessage): Answer | null {
  if (action !== undefined) return pressed(action.id);
  if (untrusted || origin !== 'user') return null;
  const match = /^[/／](?<word>approve|deny)(?:@\w+)?(?:\s+(?<rest>[\s\S]+))?$/iu.exec(text.trim());
  if (match?.groups === undefined) return null;
  const { word = '', rest = '' } = match.groups;
  const [first = '', ...more] = rest.trim().split(/\s+/u);
  if (word.toLowerCase() === 'deny') {
    return { verdict: 'deny', code: first === '' ? null : first, reason: rest.trim().slice(first.length).trim() };
  }
  const always = (one: string | undefined): boolean => one?.toLowerCase() === 'always';
  if (always(first)) return { verdict: 'always', code: more[0] ?? null, reason: '' };
  return { verdict: always(more[0]) ? 'always' : 'approve', code: first === '' ? null : first, reason: '' };
}

function pressed(id: string): Answer | null {
  for (const verdict of ['approve', 'always', 'deny'] as const) {
    const prefix = APPROVAL_BUTTONS[verdict];
    if (id.startsWith(prefix)) return { verdict, code: id.slice(prefix.length), reason: '' };
  }
  return null;
}

function settle(message: InboundMessage, open: OpenQuestions, answer: Answer): Ruling {
  if (message.role !== 'owner') {
    const command = answer.verdict === 'deny' ? '/deny' : '/approve';
    return nothing(`${message.action === undefined ? command : 'This button'} is for the owner only.`);
  }
  const named = answer.code === null ? undefined : open.byCode(answer.code);
  if (named?.kind === 'approval') return named.state === 'waiting' ? decide(named, answer) : closed(named);
  if (answer.code !== null && !isReason(answer)) return unknown(answer.code);
  const [only, ...others] = open.here().filter(({ kind }) => kind === 'approval');
  if (only === undefined) return nothing('There is no open question here.');
  const why = whyCode(only, others, answer);
  if (why !== null) return nothing(`${why}:\n\n${[only, ...others].map((one) => howTo(one, answer)).join('\n')}`);
  return decide(only, { ...answer, reason: `${answer.code ?? ''} ${answer.reason}`.trim() });
}

/** Whether the word in the place of the code is the beginning of a reason, as in `/deny not on a Sunday`. */
function isReason({ verdict, code, reason }: Answer): boolean {
  return verdict === 'deny' && reason !== '' && code !== null;
}

/** Why an answer without a code is not accepted, a sentence without its end; null: it is clear which question is meant. */
function whyCode(only: QuestionHere, others: readonly QuestionHere[], { verdict }: Answer): string | null {
  if (others.length > 0) return `${plural(others.length + 1, 'question')} are waiting here, so say which one you mean`;
  if (verdict === 'always') return 'To allow something from now on, name its code';
  if (!only.own)
    return 'I accept an answer without a code only in a direct chat, about something that you asked for there. Name the code';
  if (only.sight !== 'shown') return 'You wrote this before the question here was shown, so name its code';
  return null;
}

/** One line with the command that answers a question, and the beginning of what it would run. */
function howTo({ code, request: { title, detail } }: QuestionRow, { verdict }: Answer): string {
  const how = verdict === 'deny' ? `/deny ${code}` : `/approve ${code}${verdict === 'always' ? ' always' : ''}`;
  return `- ${how} for \`${oneLine(`${title}: ${detail}`, 80).replaceAll('`', "'")}\``;
}

function decide(question: QuestionRow, { verdict, reason }: Answer): Ruling {
  switch (verdict) {
    case 'deny':
      return deny(question, reason, 'Not allowed.');
    case 'approve':
      return { decided: { question, state: 'approved', answer: '' }, reply: 'Allowed, once.' };
    case 'always': {
      if (question.request.always === undefined) {
        const only = 'Only a plain command that does no more than read or print can be allowed for good.';
        return nothing(`${only} /approve ${question.code} allows it once.`);
      }
      const how = `\`${assistantCommand('approvals')}\` lists what is remembered and forgets it.`;
      const reply = `Allowed now and from now on, exactly as shown. ${how}`;
      return { decided: { question, state: 'approved', answer: '', forGood: true }, reply };
    }
  }
}

function deny(question: QuestionRow, why: string, reply: string): Ruling {
  const answer = why === '' ? 'the owner said no' : `the owner said: ${why}`;
  return { decided: { question, state: 'denied', answer }, reply };
}

/** Reads the press of a choice button. */
function chosen(message: InboundMessage, open: OpenQuestions, id: string): Ruling {
  const [code = '', n = ''] = id.slice(CHOICE_BUTTON.length).split(':');
  const question = open.byCode(code);
  if (question?.kind !== 'ask') return unknown(code);
  if (question.person !== message.sender.id || message.origin !== 'user') {
    return nothing('This question is for another person.');
  }
  if (question.state !== 'waiting') return closed(question);
  const answer = n === TEXT_OF_CHOICE ? (message.action?.value.trim() ?? '') : question.choices[Number(n)];
  if (answer === undefined || answer === '') return nothing('There is no such choice.');
  return answered(question, choiceIn(question.choices, answer) ?? answer);
}

/**
 * Reads plain text, which answers the model's newest question to this person. If the model asked nothing and exactly one
 * approval question is waiting, an owner's "yes" approves it, and any other text denies it and is the reason. Returns null
 * if the text answers no question.
 */
function inWords(message: InboundMessage, open: OpenQuestions): Ruling | null {
  const { origin, untrusted, action, media, shared, role, sender } = message;
  const words = message.text.trim();
  if (origin !== 'user' || untrusted || words === '' || /^[/／,，]/u.test(words)) return null;
  const here = open.here();
  const isStop = isStopRequest(message);
  const isAlone = media.length === 0 && shared === undefined;
  if (action === undefined && isAlone) {
    const asked = here.findLast(
      ({ kind, person, sight }) => kind === 'ask' && person === sender.id && sight !== 'unseen',
    );
    const choice = asked === undefined ? undefined : choiceIn(asked.choices, words);
    const newer = asked === undefined ? [] : here.slice(here.indexOf(asked) + 1);
    const unclear = choice === undefined && isYesOrNo(words) ? newer.filter((one) => isOwn(one, message)) : [];
    if (unclear.length > 0) {
      return nothing(
        `I asked you something else after that question, so answer this first:\n\n${unclear.map(howToSettle).join('\n')}`,
      );
    }
    // "stop" ends the running work, unless it is one of the choices.
    if (asked !== undefined && (choice !== undefined || !isStop)) return answered(asked, choice ?? words);
  }
  const [only, ...others] = here;
  if (only?.kind !== 'approval' || role !== 'owner' || isStop) return null;
  const why = whyCode(only, others, { verdict: 'deny', code: null, reason: words });
  if (why !== null) {
    // A question of a job or of somebody else: a plain yes right below it is meant for it, but its time was not the owner's choice.
    const isBelow = others.length === 0 && only.sight === 'shown' && only.isNewest;
    const isUnclear = isBelow || (others.length > 0 && here.every((one) => isOwn(one, message)));
    return isAlone && isUnclear && isYesOrNo(words) ? nothing(`${why}:\n\n${here.map(howToSettle).join('\n')}`) : null;
  }
  if (isAlone && YES.test(words)) {
    return decide(only, { verdict: 'approve', code: null, reason: '' });
  }
  if (NO.test(words)) return deny(only, '', 'Not allowed.');
  return deny(only, words, 'Not allowed: I took your message as the answer.');
}

/** Whether a person may answer an approval question without its code, if it is the only one. */
function isOwn({ kind, own, sight }: QuestionHere, { role }: InboundMessage): boolean {
  return kind === 'approval' && role === 'owner' && own && sight === 'shown';
}

function isYesOrNo(words: string): boolean {
  return YES.test(words) || NO.test(words);
}

/** One line with both commands that answer a question, and the beginning of what it would run. */
function howToSettle(question: QuestionRow): string {
  return `${howTo(question, { verdict: 'approve', code: null, reason: '' })}, or /deny ${question.code}`;
}

/** A plain yes; one with a condition (“yes, but only once”) is none. */
const YES =
  /^(?:y|yes|yep|yeah|ok|okay|sure|ja|oui|s[ií]|👍\p{Emoji_Modifier}?)(?:[,!.]?\s+(?:please|go ahead|do it|bitte|s'il te plaît))?\s*[.!]*$/iu;
const NO = /^(?:n|no|nope|nein|non|👎\p{Emoji_Modifier}?)(?:[,!.]?\s+(?:thanks|thank you|danke|merci))?\s*[.!]*$/iu;

/** The choice that a text names by its label or number; undefined: none. */
function choiceIn(choices: readonly string[], words: string): string | undefined {
  const said = choices.find((choice) => choice.toLowerCase() === words.toLowerCase());
  return said ?? (/^\d{1,2}$/u.test(words) ? choices[Number(words) - 1] : undefined);
}

function answered(question: QuestionRow, answer: string): Ruling {
  return { decided: { question, state: 'answered', answer }, reply: '' };
}

function unknown(code: string): Ruling {
  return nothing(`There is no open question named ${cut(code, 40)}.`);
}

function closed({ state }: QuestionRow): Ruling {
  return nothing(`That question is closed already (${state}).`);
}

function nothing(reply: string): Ruling {
  return { decided: null, reply };
}
