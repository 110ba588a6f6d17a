import { ago, dateOf, lately, wholeUnit, weekdayOf, yearOf, type Amount, type Unit } from './calendar.ts';
import { numberOf, type Language } from './rule.ts';

const FIGURES = '一二三四五六七八九';
const NUMBER = `\\d{1,3}|[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]|几`;
const MONTH = `1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九]`;
const DAY = `[12]\\d|3[01]|0?[1-9]|三十一?|二?十[一二三四五六七八九]?|[一二三四五六七八九]`;
const WEEK = '周|星期|礼拜';
const HOW = '(?<how>以来|之后|以后|之前|以前|到现在)?';
/** 一 to 日 are Monday to Sunday. */
const WEEKDAY = '[一二三四五六日天]';

function rule(source: string): RegExp {
  return new RegExp(source, 'giu');
}

function figureOf(text: string | undefined): number | null {
  if (text === undefined) return null;
  if (/^\d+$/u.test(text)) return Number(text);
  if (text === '两') return 2;
  if (!text.includes('十')) return FIGURES.indexOf(text) + 1;
  const [tens = '', ones = ''] = text.split('十');
  return (tens === '' ? 1 : FIGURES.indexOf(tens) + 1) * 10 + (ones === '' ? 0 : FIGURES.indexOf(ones) + 1);
}

function amountOf(text = '几'): Amount {
  return text === '几' ? 'few' : (figureOf(text) ?? 'few');
}

function unitOf(text = ''): Unit {
  if (/小时/u.test(text)) return 'hour';
  if (/[天日]/u.test(text)) return 'day';
  if (/月/u.test(text)) return 'month';
  return text.includes('年') ? 'year' : 'week';
}

function weekdayNumber(text: string): number {
  return text === '日' || text === '天' ? 6 : FIGURES.indexOf(text);
}

/** How many back: 上上周, 上周, 这周. */
function backOf(text = ''): number {
  return text.split('上').length - 1;
}

export const chinese: Language = {
  directions: { 以来: 'since', 到现在: 'since', 之后: 'after', 以后: 'after', 之前: 'before', 以前: 'before' },
  rules: [
    {
      find: rule(`(?:自从?|从)?(?<name>大前天|前天|昨天|昨日|昨晚|今天|今日|今早)(?:早上|上午|中午|下午|晚上)?${HOW}`),
      days: ({ name = '' }, { day }) => {
        const back = name === '大前天' ? 3 : name === '前天' ? 2 : name.startsWith('昨') ? 1 : 0;
        return { first: day - back, last: day - back };
      },
    },
    {
      find: rule(`(?<count>${NUMBER})(?<unit>个?小时|天|日|个?(?:${WEEK})|个月|年)(?:之|以)?前`),
      days: ({ count, unit }, today) => ago(today, amountOf(count), unitOf(unit)),
    },
    {
      find: rule(`(?:在)?(?:最近|过去|近|这)的?(?<count>${NUMBER})(?<unit>天|日|个?(?:${WEEK})|个月|年)(?:里|内|中)?`),
      days: ({ count, unit }, today) => lately(today, amountOf(count), unitOf(unit)),
    },
    {
      find: rule(
        `(?:自从?|从|在)?(?<which>上+个?|这个?|本)(?:${WEEK})(?:(?<weekday>${WEEKDAY})|(?<weekend>末))?${HOW}`,
      ),
      days: ({ which, weekday, weekend }, today) => {
        const back = backOf(which);
        if (weekday !== undefined) return weekdayOf(today, weekdayNumber(weekday), back);
        if (weekend !== undefined) return wholeUnit(today, 'weekend', back - (today.weekday < 5 && back > 0 ? 1 : 0));
        return wholeUnit(today, 'week', back);
      },
    },
    {
      find: rule(`(?:自从?|从|在)?(?<which>上+个?|这个|本)月(?:初|底|中)?${HOW}`),
      days: ({ which }, today) => wholeUnit(today, 'month', backOf(which)),
    },
    {
      find: rule(
        `(?:自从?|从|在)?(?<name>去年|前年|今年)的?(?:(?<month>${MONTH})月(?:份|初|底|中旬)?(?:(?<day>${DAY})[日号])?)?${HOW}`,
      ),
      days: ({ name = '', month, day }, today) => {
        const year = today.year - ['今年', '去年', '前年'].indexOf(name);
        if (month === undefined) return yearOf(year);
        return dateOf(today, { year, month: figureOf(month) ?? 0, day: figureOf(day) });
      },
    },
    {
      find: rule(
        `(?:自从?|从|在)?(?<year>(?:19|20)\\d\\d)年(?:的?(?<month>${MONTH})月(?:份|初|底|中旬)?(?:(?<day>${DAY})[日号])?)?${HOW}`,
      ),
      days: ({ year, month, day }, today) =>
        month === undefined
          ? yearOf(Number(year))
          : dateOf(today, { year: numberOf(year), month: figureOf(month) ?? 0, day: figureOf(day) }),
      isDate: true,
    },
    {
      find: rule(
        `(?<![\\d${FIGURES}十个每下])(?:自从?|从|在)?(?<month>${MONTH})月(?:份|初|底|中旬)?(?:(?<day>${DAY})[日号])?${HOW}`,
      ),
      days: ({ month, day }, today) => dateOf(today, { month: figureOf(month) ?? 0, day: figureOf(day) }),
      isDate: true,
    },
    {
      find: rule(`(?<![每下逢])(?:${WEEK})(?:(?<weekday>${WEEKDAY})|末)${HOW}`),
      days: ({ weekday }, today) =>
        weekday === undefined ? wholeUnit(today, 'weekend', 0) : weekdayOf(today, weekdayNumber(weekday)),
    },
  ],
};
