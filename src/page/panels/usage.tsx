import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { operation } from '../net/http.ts';
import type { UsageSeries } from '../../core/gateway/operations/usage.ts';
import { Choice } from '../parts/choice.tsx';
import { useLoaded } from '../parts/loaded.tsx';
import { Empty, Loading, Problem } from '../parts/states.tsx';
import { changes } from '../state/app.ts';
import { compact, money, whole } from '../text/figures.ts';
import { shown } from '../text/shown.ts';
import { COLOURS, Plot, type Bar } from './plot.tsx';

type Series = 'model' | 'source' | 'job';
const SERIES: readonly Series[] = ['model', 'source', 'job'];
const SERIES_WORDS: Readonly<Record<Series, string>> = { model: 'Model', source: 'Source', job: 'Job' };
const SPANS = [7, 30, 90] as const;

/** What the models cost, by day. */
export function Usage(): VNode {
  const [by, group] = useState<Series>('model');
  const [days, span] = useState<number>(30);
  const { value, problem, again } = useLoaded(
    () => operation('usageSeries', { by, days }),
    [by, days, changes('usage').value],
  );
  return (
    <div class="column">
      <p class="lead">Tokens and cost of the models, by day.</p>
      <div class="choices">
        <Choice
          label="Time"
          options={SPANS.map((n) => [String(n), `${n} days`])}
          value={String(days)}
          choose={(n) => span(Number(n))}
        />
        <Choice
          label="Split by"
          options={SERIES.map((name) => [name, SERIES_WORDS[name]])}
          value={by}
          choose={(name) => group(SERIES.find((one) => one === name) ?? 'model')}
        />
      </div>
      {problem === undefined ? null : <Problem text={problem} again={again} />}
      {value === undefined ? problem === undefined ? <Loading /> : null : <Report report={value} by={by} days={days} />}
    </div>
  );
}

function Report({
  report,
  by,
  days,
}: {
  readonly report: UsageSeries;
  readonly by: Series;
  readonly days: number;
}): VNode {
  const { rows, budgets } = report;
  const sum = (of: (row: (typeof rows)[number]) => number): number => rows.reduce((total, row) => total + of(row), 0);
  const { cacheHitRate } = report;
  const unpriced = sum((row) => row.unpriced);
  const names = rows.map(({ name }) => name);
  if (rows.length === 0) {
    return <Empty>{by === 'job' ? 'No job asked a model in this time.' : 'No model was asked in this time.'}</Empty>;
  }
  return (
    <>
      <dl class="figures">
        <Figure
          name="Cost"
          value={money(sum((row) => row.costUsd))}
          note={unpriced === 0 ? '' : `${whole(unpriced)} calls have no known price`}
        />
        <Figure name="Read" value={compact(sum((row) => row.input))} note="tokens" />
        <Figure name="Written" value={compact(sum((row) => row.output))} note="tokens" />
        <Figure
          name="From the cache"
          value={cacheHitRate === null ? '–' : `${Math.round(100 * cacheHitRate)} %`}
          note="of what was read"
        />
      </dl>
      <Budgets budgets={budgets} />
      <h2>Cost</h2>
      <Plot
        bars={barsOf(report, days, ({ costUsd }) => costUsd)}
        names={names}
        label={`Cost of each day by ${by}`}
        say={money}
      />
      <h2>Tokens</h2>
      <Plot
        bars={barsOf(report, days, ({ input, output }) => input + output)}
        names={names}
        label={`Tokens of each day by ${by}`}
        say={compact}
      />
      <div class="wide" tabIndex={0} role="region" aria-label={`Usage by ${by}`}>
        <table>
          <thead>
            <tr>
              {['', 'Calls', 'Read', 'Cached', 'Written', 'Cost'].map((head, at) => (
                <th key={head} scope="col" class={at === 0 ? undefined : 'right'}>
                  {at === 0 ? SERIES_WORDS[by] : head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {names.map((name, at) => {
              const row = rows.find((one) => one.name === name);
              return row === undefined ? null : (
                <tr key={name}>
                  <th scope="row">
                    <span class={`swatch part-${Math.min(at, COLOURS - 1)}`} />
                    {shown(name)}
                  </th>
                  <td class="right">{whole(row.calls)}</td>
                  <td class="right">{compact(row.input)}</td>
                  <td class="right">{compact(row.cached)}</td>
                  <td class="right">{compact(row.output)}</td>
                  <td class="right">{row.unpriced === row.calls ? 'unknown' : money(row.costUsd)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** What the settings of budgets limit. */
const BUDGETS: Readonly<Record<string, string>> = {
  'agent.budget.dayUsd': 'Cost of everything',
  'agent.budget.dayTokens': 'Tokens of everything',
  'agent.budget.selfDayTokens': 'Tokens of what it does by itself',
};

function Budgets({ budgets }: Pick<UsageSeries, 'budgets'>): VNode | null {
  if (budgets.length === 0) return null;
  return (
    <>
      <h2>Budgets</h2>
      <ul class="cards">
        {budgets.map(({ name, unit, limit, used, left }) => {
          const say = unit === 'usd' ? money : compact;
          return (
            <li key={name}>
              <p class="row wrap">
                <span title={shown(name)}>{BUDGETS[name] ?? shown(name)}</span>
                <span class="faint">
                  {`${say(used)} of ${say(limit)}${unit === 'usd' ? '' : ' tokens'} today, ${say(left)} left`}
                </span>
              </p>
              <meter
                min={0}
                max={limit}
                high={limit * 0.8}
                optimum={0}
                value={used}
                aria-label={BUDGETS[name] ?? shown(name)}
              />
            </li>
          );
        })}
      </ul>
    </>
  );
}

function Figure({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: string;
  readonly note: string;
}): VNode {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value} <span class="faint">{note}</span>
      </dd>
    </div>
  );
}

const DAY = 86_400_000;

/** One bar for each day, also for those without a call. */
function barsOf(
  { days }: UsageSeries,
  count: number,
  value: (day: UsageSeries['days'][number]) => number,
): readonly Bar[] {
  const last = days.reduce((newest, { day }) => (day > newest ? day : newest), '');
  const end = Math.max(Date.parse(last), Date.parse(new Date().toISOString().slice(0, 10)));
  return Array.from({ length: count }, (_, at) => {
    const day = new Date(end - (count - 1 - at) * DAY).toISOString().slice(0, 10);
    const parts = days.filter((one) => one.day === day).map((one) => ({ name: one.name, value: value(one) }));
    return { day, parts };
  });
}
