import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing, Shown } from '../../core/cli/asking.ts';

type WhyTold = RequestResult<'why'>['stories'][number];
type OwnStep = RequestResult<'why'>['own'][number];

/**
 * `assistant why [ABOUT]`: why a message, a turn or a job became what it became; with --since everything in that time, and
 * without both the newest messages, jobs and heartbeats. Oldest first.
 */
export function whyLines(
  { stories, own }: RequestResult<'why'>,
  { given: { about, since }, second }: Showing<Readonly<Record<'about' | 'since', string | undefined>>>,
): Shown {
  const facts = { stories: stories.toReversed(), own: own.toReversed() };
  const [one] = stories;
  const lines =
    about !== undefined && one !== undefined
      ? whole(one, second)
      : [...facts.stories.map(short), ...facts.own.map(ownLine)]
          .toSorted((a, b) => a.at - b.at)
          .map(({ at, line }) => `${second(at)}  ${line}`);
  return { facts, lines: lines.length === 0 ? [nothingText(since)] : lines };
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
