import { ago, dateOf, lately, wholeUnit, weekdayOf, yearOf, type Amount, type Unit } from './calendar.ts';
import { numberOf, wordRule, type Language } from './rule.ts';

const MONTHS: Readonly<Record<string, number>> = {
  ja: 1,
  jä: 1,
  fe: 2,
  mä: 3,
  ma: 3,
  ap: 4,
  mai: 5,
  jun: 6,
  jul: 7,
  au: 8,
  se: 9,
  ok: 10,
  no: 11,
  de: 12,
};
const WEEKDAYS = ['montag', 'dienstag', 'mittwoch', 'donnerstag', 'freitag', 'samstag', 'sonntag'];
const NUMBERS = [
  'null',
  'ein',
  'zwei',
  'drei',
  'vier',
  'fünf',
  'sechs',
  'sieben',
  'acht',
  'neun',
  'zehn',
  'elf',
  'zwölf',
];

const MONTH =
  'januar|jänner|februar|feber|märz|maerz|april|mai|juni|juli|august|september|oktober|november|dezember|jan|feb|apr|jun|jul|aug|sept?|okt|nov|dez';
const WEEKDAY = `${WEEKDAYS.join('|')}|sonnabend`;
const HOW = 'seit|nach|vor|bis|ab';
const COUNT = `(?<count>\\d{1,3}|einem|einer|ein paar|einigen|wenigen|mehreren|paar|${NUMBERS.slice(2).join('|')})`;
const PART = String.raw`(?:\s+(?:früh|morgen|vormittag|mittag|nachmittag|abend|nacht))?`;

function amountOf(text = 'einem'): Amount {
  const plain = text.toLowerCase();
  if (/^\d+$/u.test(plain)) return Number(plain);
  if (plain === 'einem' || plain === 'einer') return 1;
  const named = NUMBERS.indexOf(plain);
  return named > 0 ? named : 'few';
}

function monthOf(text = ''): number {
  const plain = text.toLowerCase();
  return MONTHS[plain.slice(0, 3)] ?? MONTHS[plain.slice(0, 2)] ?? 0;
}

function unitOf(text = ''): Unit {
  const units = { st: 'hour', ta: 'day', wo: 'week', mo: 'month', ja: 'year' } as const;
  return units[text.slice(0, 2).toLowerCase() as keyof typeof units];
}

function weekdayNumber(text = ''): number {
  const plain = text.toLowerCase();
  return plain === 'sonnabend' ? 5 : WEEKDAYS.indexOf(plain);
}

export const german: Language = {
  directions: { seit: 'since', ab: 'since', nach: 'after', vor: 'before', bis: 'until' },
  rules: [
    {
      find: wordRule(`(?:(?<how>seit|vor|bis)\\s+)?(?<name>vorvorgestern|vorgestern|gestern|heute)${PART}`),
      days: ({ name = '' }, { day }) => {
        const back = ['heute', 'gestern', 'vorgestern', 'vorvorgestern'].indexOf(name.toLowerCase());
        return { first: day - back, last: day - back };
      },
    },
    {
      find: wordRule(`vor\\s+${COUNT}\\s+(?<unit>stunden?|tag(?:en)?|wochen?|monat(?:en)?|jahr(?:en)?)`),
      days: ({ count, unit }, today) => ago(today, amountOf(count), unitOf(unit)),
    },
    {
      find: wordRule(
        `(?:(?:in|während|über|seit)\\s+)?(?:(?:den|der|die)\\s+)?(?:letzten|vergangenen|vorigen)\\s+(?:${COUNT}\\s+)?(?<unit>tagen?|wochen|monaten?|jahren?)`,
      ),
      days: ({ count = 'paar', unit }, today) => lately(today, amountOf(count), unitOf(unit)),
    },
    {
      find: wordRule(
        `(?:(?<how>seit|vor|bis)\\s+)?(?:(?:in|im|am)\\s+)?(?:(?:de[rmn]|die|das)\\s+)?(?<which>vorletzte|letzte|vergangene|vorige|diese)[nrsm]?\\s+(?<unit>woche|monat|jahr|wochenende)s?`,
      ),
      days: ({ which = '', unit = '' }, today) => {
        const back = { d: 0, v: which.toLowerCase() === 'vorletzte' ? 2 : 1 }[which.charAt(0).toLowerCase()] ?? 1;
        if (/^wochenende$/iu.test(unit))
          return wholeUnit(today, 'weekend', back - (today.weekday < 5 && back > 0 ? 1 : 0));
        return wholeUnit(today, unitOf(unit) as 'week' | 'month' | 'year', back);
      },
    },
    { find: wordRule(`am\\s+wochenende`), days: (_, today) => wholeUnit(today, 'weekend', 0) },
    {
      find: wordRule(
        `(?:(?<how>${HOW})(?:\\s+dem)?|am|vom|diesen)\\s+(?:(?:letzten|vergangenen|vorigen|letztem)\\s+)?(?<weekday>${WEEKDAY})(?:morgen|vormittag|mittag|nachmittag|abend|nacht)?${PART}`,
      ),
      days: ({ weekday }, today) => weekdayOf(today, weekdayNumber(weekday)),
    },
    {
      find: wordRule(`(?:letzten|vergangenen|vorigen)\\s+(?<weekday>${WEEKDAY})(?:abend|nacht)?${PART}`),
      days: ({ weekday }, today) => weekdayOf(today, weekdayNumber(weekday)),
    },
    {
      find: wordRule(
        `(?:zwischen|von)\\s+(?<month>${MONTH})(?:\\s+(?<year>\\d{4}))?\\s+(?:und|bis)\\s+(?<other>${MONTH})(?:\\s+(?<otherYear>\\d{4}))?`,
      ),
      days: ({ month, year, other, otherYear }, today) => ({
        first: dateOf(today, { year: numberOf(year ?? otherYear), month: monthOf(month) })?.first ?? null,
        last: dateOf(today, { year: numberOf(otherYear ?? year), month: monthOf(other) })?.last ?? null,
      }),
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?:(?<how>${HOW})|am|vom|zum)\\s+)?(?:(?:de[mn]|zum)\\s+)?(?<day>\\d{1,2})\\.\\s*(?<month>${MONTH})(?:\\s+(?<year>\\d{4}))?`,
      ),
      days: ({ day, month, year }, today) =>
        dateOf(today, { year: numberOf(year), month: monthOf(month), day: numberOf(day) }),
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?:(?<how>${HOW})|am|vom|zum)\\s+)?(?:dem\\s+)?(?<day>\\d{1,2})\\.(?<month>\\d{1,2})\\.(?<year>\\d{4})`,
      ),
      days: ({ day, month, year }, today) =>
        dateOf(today, { year: numberOf(year), month: Number(month), day: numberOf(day) }),
      isDate: true,
    },
    {
      find: wordRule(`(?:(?<how>${HOW})|am|vom|zum)\\s+(?:dem\\s+)?(?<day>\\d{1,2})\\.(?<month>\\d{1,2})\\.`),
      days: ({ day, month }, today) => dateOf(today, { month: Number(month), day: numberOf(day) }),
      isDate: true,
    },
    {
      find: wordRule(`(?:(?:(?<how>${HOW})|im|in|vom)\\s+)?(?<month>${MONTH})\\s+(?<year>(?:19|20)\\d\\d)`),
      days: ({ month, year }, today) => dateOf(today, { year: numberOf(year), month: monthOf(month) }),
      isDate: true,
    },
    {
      find: wordRule(
        `(?:(?<how>seit|bis|ab|vor)|(?:seit\\s+|im\\s+)?(?:letzten|vergangenen|vorigen|letztem)|im|(?:seit\\s+)?(?:anfang|mitte|ende))\\s+(?<month>${MONTH})`,
      ),
      days: ({ month, how = '' }, today) => {
        // People are called that too.
        if (/^vor$/iu.test(how) && /^(?:mai|april|august|juli)$/iu.test(month ?? '')) return null;
        return dateOf(today, { month: monthOf(month) });
      },
      isDate: true,
    },
    {
      find: wordRule(`(?:(?<how>${HOW})|in|im(?:\\s+jahre?)?)\\s+(?<year>(?:19|20)\\d\\d)`),
      days: ({ year }) => yearOf(Number(year)),
      isDate: true,
    },
  ],
};
