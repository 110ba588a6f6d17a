import * as z from 'zod';
import { localMinute, localTime } from '../../core/api-time.ts';
import { plural } from '../../core/api.ts';
import { seesPrivate } from '../../core/api-memory.ts';
import {
  defineTool,
  escapeControlChars,
  type Executed,
  showsInGroup,
  type Tool,
  type ToolContext,
} from '../../core/api-tools.ts';

/** What this tool needs of the memory's search. Times in the words of the query count where the call names none. */
export interface MemorySearcher {
  search(query: {
    readonly text: string;
    readonly limit: number;
    readonly scope: 'all' | readonly string[];
    readonly since?: number;
    readonly until?: number;
  }): Promise<{ readonly hits: readonly FoundMemory[]; readonly time: SearchedTime | null }>;
}

/** The time that the words of a query name. */
export interface SearchedTime {
  /** Milliseconds since 1970, both ends included; undefined: open. */
  readonly since?: number;
  readonly until?: number;
  /** Nothing with these words is of that time, so that the hits are of any. */
  readonly isMissed: boolean;
}

export interface FoundMemory {
  readonly source: 'memory' | 'history' | 'session';
  readonly session?: string;
  /** Milliseconds since 1970. */
  readonly at?: number;
  readonly role?: 'user' | 'assistant';
  /** It holds text of others. */
  readonly untrusted: boolean;
  /** It is of a turn of somebody with fewer rights than the owner. @default false */
  readonly belowOwner?: boolean;
  readonly snippet: string;
  /** What is known of it, e.g. where a fact comes from. @default nothing */
  readonly known?: string;
}

export interface MemorySearchToolOptions {
  readonly memory: MemorySearcher;
  /** Hits where the call does not say. */
  readonly results: number;
  readonly timezone: string | null;
}

const MOST = 50;
const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d\d-\d\d$/;

function parametersFor(results: number) {
  return z.object({
    query: z.string().min(1).describe('Words to find; those in quotes must stand together, e.g. dentist "root canal".'),
    limit: z.int().min(1).max(MOST).optional().describe(`Most excerpts to return, 1 to ${MOST}. Default: ${results}.`),
    since: z.string().regex(DAY).optional().describe('First day, e.g. 2027-01-31. Default: any.'),
    until: z.string().regex(DAY).optional().describe('Last day, e.g. 2027-02-28. Default: any.'),
  });
}

/** Who asks decides where is searched: the owner everywhere, anybody else in their own conversation. */
export function memorySearchTool({ memory, results, timezone }: MemorySearchToolOptions): Tool {
  const parameters = parametersFor(results);
  const search = async (
    { query, limit = results, since, until }: z.infer<typeof parameters>,
    context: ToolContext,
  ): Promise<Executed> => {
    const { hits: found, time } = await memory.search({
      text: query,
      limit,
      scope: scopeOf(context),
      // Days are days somewhere: a day more on both sides than UTC has.
      ...(since === undefined ? {} : { since: Date.parse(since) - DAY_MS / 2 }),
      ...(until === undefined ? {} : { until: Date.parse(until) + 1.5 * DAY_MS }),
    });
    const isOwners = context.person.role === 'owner';
    const lines = [...timeLines(time, timezone), ...found.map((hit) => lineOf(hit, timezone))];
    return {
      title: `searched for ${query}`,
      output: found.length === 0 ? 'Nothing was found. Try other words, or fewer.' : lines.join('\n'),
      metadata: { found: plural(found.length, 'hit') },
      private: true,
      // What somebody with fewer rights said is text of others for the owner, and not for that person.
      ...(found.some(({ untrusted, belowOwner }) => untrusted || (belowOwner === true && isOwners))
        ? { untrusted: true }
        : {}),
    };
  };
  return defineTool({
    name: 'memory_search',
    onlyReads: true,
    source: 'earlier text by others',
    description:
      'Search what was said or noted before: in this chat and, for the owner in a direct chat, in all chats and the memory. Returns short excerpts with dates; since and until leave MEMORY.md out. Use it when the person refers to something that you do not see.',
    parameters,
    effect: 'none',
    role: 'trusted',
    plan: (params, context) => ({
      run: () => search(params, context),
      reaches: showsInGroup(escapeControlChars(`what was said or noted about ${params.query}`)),
    }),
  });
}

function scopeOf({ call, person }: ToolContext): 'all' | readonly string[] {
  return seesPrivate(person) ? 'all' : [call.sessionKey];
}

/** Says which time was searched, because the query named it and not the call. */
function timeLines(time: SearchedTime | null, timezone: string | null): readonly string[] {
  if (time === null) return [];
  const day = (at: number | undefined): string => (at === undefined ? '' : localTime(at, timezone).date);
  const [first, last] = [day(time.since), day(time.until)];
  const days = first === last ? first : `${first} to ${last}`;
  const named = first === '' ? `the time until ${last}` : last === '' ? `the time since ${first}` : days;
  return [
    time.isMissed
      ? `(Nothing with these words is of ${named}, which the query names; these are of any time.)`
      : `(Of ${named}, as the query says; use since and until for another time.)`,
  ];
}

function lineOf({ source, session, at, role, snippet, known }: FoundMemory, timezone: string | null): string {
  const when = at === undefined ? '' : `${localMinute(at, timezone)} `;
  const about = known === undefined ? '' : ` (${known})`;
  switch (source) {
    case 'memory':
      return `- MEMORY.md${about}: ${snippet}`;
    case 'history':
      // The beginning of a paragraph has its time already.
      return `- ${snippet.startsWith('[') ? '' : when}HISTORY.md${about}: ${snippet}`;
    case 'session':
      return `- ${when}${session ?? ''} (${role ?? 'unknown'}): ${snippet}`;
  }
}
