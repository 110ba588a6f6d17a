import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { CliContext } from '../../core/cli/context.ts';
import { localSecond } from '../../core/util/time-zone.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';
import { readMoment } from './moment.ts';

type WhyTold = RequestResult<'why'>['stories'][number];
type OwnStep = RequestResult<'why'>['own'][number];

interface WhyFlags extends OutputFlags {
  readonly about: string | undefined;
  readonly since: string | undefined;
  readonly last: number;
}

/**
 * `assistant why [ABOUT]`: why a message, a turn or a job became what it became; with --since everything in that time, and
 * without both the newest messages, jobs and heartbeats. Oldest first.
 */
export async function whyCommand({ about, since, last, json, home }: WhyFlags, context: CliContext): Promise<number> {
  const from = since === undefined ? 0 : readMoment(since, { option: '--since', now: context.clock.now() });
  await using assistant = await openAssistant(context, home);
  const { stories, own } = await assistant.port.call('why', {
    count: last,
    since: from,
    ...(about === undefined ? {} : { about }),
  });
  const facts = { stories: stories.toReversed(), own: own.toReversed() };
  const [one] = stories;
  const zone = await zoneOf(context, home);
  const timeOf = (at: number): string => localSecond(at, zone);
  const lines =
    about !== undefined && one !== undefined
      ? whole(one, timeOf)
      : [...facts.stories.map(short), ...facts.own.map(ownLine)]
          .toSorted((a, b) => a.at - b.at)
          .map(({ at, line }) => `${timeOf(at)}  ${line}`);
  print(context, json, { facts, lines, nothing: nothingText(since) });
  return 0;
}

function whole({ subject, cause, steps, cost, turn }: WhyTold, timeOf: (at: number) => string): readonly string[] {
  return [
    `About ${subject}:`,
    cause,
    '',
    ...steps.map(({ at, what }) => `${timeOf(at)}  ${what}`),
    ...(cost === null ? [] : ['', `Cost: ${cost}`]),
    ...(turn === null ? [] : [`Turn: ${turn}`]),
  ];
}

function short({ at, subject, cause, session }: WhyTold): { readonly at: number; readonly line: string } {
  return { at, line: `${session}  ${subject}\n    ${cause}` };
}

function ownLine({ at, what, outcome, reason }: OwnStep): { readonly at: number; readonly line: string } {
  return { at, line: `${outcome.padEnd(13)}  ${what}${reason === null ? '' : `\n    ${reason}`}` };
}

function nothingText(since: string | undefined): string {
  return since === undefined
    ? 'No message has come in yet, and no job or heartbeat has run.'
    : 'Nothing came in, and nothing was done.';
}
