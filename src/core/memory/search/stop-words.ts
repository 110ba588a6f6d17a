import { fold, type Term } from './words.ts';

/** Words that say nothing of what is looked for, as people ask for it. */
const ENGLISH =
  'a about all also am an and any anything are as at be been but by can could did discuss discussed do does doing done for from had happen happened has have he her here hers him his how i if in into is it its just know let like me mention mentioned mine my no not of on or our ours out over please remember remind said say says she should so some something talk talked tell that the their them then there these they thing things this those to told up us was we were what when where which who whom whose why will with would you your yours';
const GERMAN =
  'aber alle alles als am an auch auf aus bei besprochen bin bist da das dass dein deine dem den denn der des die dies diese diesem diesen dieser dieses dir du durch ein eine einem einen einer eines er erwahnt erzahlt es etwas euch euer fur gab gemacht gesagt geschehen gesprochen geredet habe haben hat hatte hatten hast ich ihm ihn ihr ihre ihrem ihren ihrer im in ins ist ja kann kannst los man mein meine meinem meinen meiner mich mir mit nach nicht noch oder ob passiert schon sein seine seinem seinen seiner sich sie sind so uber um und uns unser unsere unserem unseren unserer von vom vor war waren warum was wann weil welche welchem welchen welcher welches wem wen wenn wer werden wessen wie wieder wir wird wo woher wohin womit woran woruber wovon wozu wurde zu zum zur';
/** Runs of characters; the longer ones first, so that a part of one is not taken for it. */
const CHINESE =
  '是不是 有没有 什么时候 为什么 怎么样 哪一天 哪一个 我们的 什么 我们 你们 他们 她们 咱们 哪里 哪儿 哪个 哪些 哪位 哪天 几号 多少 怎么 谁的 关于 记得 还记得 知道 告诉 说过 讨论 发生 事情 聊过 谈过 提到 提过 一下 我的 你的 他的 她的 那个 这个 现在 请问 了 吗 呢 的 是 在 我 你 他 她 它 谁 有 和 跟 与 说 聊 谈 吧 啊 那 这 也 都 过 把 被 就 于'.split(
    ' ',
  );

const WORDS: ReadonlySet<string> = new Set(fold(`${ENGLISH} ${GERMAN}`).split(' '));
const RUNS = new RegExp(`(?<=^| )(?:${CHINESE.map((run) => run.split('').join(' ')).join('|')})(?= |$)`, 'gu');

/** What a question asks for: without the words that only make it a question. All of them where nothing else is left. */
export function tellingTerms(terms: readonly Term[]): readonly Term[] {
  const telling = terms.flatMap((term): readonly Term[] => {
    if (term.kind === 'word') return WORDS.has(term.text) ? [] : [term];
    return term.kind === 'singles' ? partsOf(term.text) : [term];
  });
  return telling.length === 0 ? terms : telling;
}

/** Whether a question says what it asks for. */
export function isTelling(terms: readonly Term[]): boolean {
  return terms.some(({ kind, text }) =>
    kind === 'word' ? !WORDS.has(text) : kind === 'phrase' || partsOf(text).length > 0,
  );
}

/** The parts of a run of single characters between those that only ask. */
function partsOf(run: string): readonly Term[] {
  return run
    .split(RUNS)
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((text) => ({ kind: 'singles', text }));
}
