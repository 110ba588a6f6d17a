import * as z from 'zod';
import {
  type CallIds,
  type CallPerson,
  type DeclaredAction,
  defineTool,
  errorResult,
  type Tool,
  type ToolResult,
} from '../../core/api-tools.ts';

/** What this tool needs of the memory. */
export interface FactStore {
  /** Adds, changes or removes one fact. */
  change(
    change: {
      readonly fact: string;
      readonly replaces?: string;
      readonly section?: string;
    },
    call: CallIds,
  ): Promise<
    | {
        readonly outcome: 'added' | 'changed' | 'removed' | 'unchanged';
        readonly fact: string;
        /** Facts beside an added one that may say another value of the same thing. @default none */
        readonly near?: readonly string[];
      }
    | { readonly outcome: 'no-match' | 'ambiguous'; readonly candidates: readonly string[] }
  >;
}

const LONGEST_FACT = 1_000;

const parameters = z.object({
  fact: z
    .string()
    .describe(
      `The fact in one line of at most ${LONGEST_FACT} characters, e.g. Anna was born on 4 May. An empty string removes the line that replaces names.`,
    ),
  replaces: z
    .string()
    .optional()
    .describe('Words of the line to change or remove, e.g. Anna was born. Default: a line is added.'),
  section: z
    .string()
    .optional()
    .describe(
      'Heading to put the line under, e.g. Family; made if missing. Default: the top, or where the line stands.',
    ),
});
type Params = z.infer<typeof parameters>;

export function memoryWriteTool(memory: FactStore): Tool {
  return defineTool({
    name: 'memory_write',
    fits: 'tiny',
    withheldFrom: ['visit'],
    description:
      'Add, change or remove one fact in the long-term memory (memory/MEMORY.md), which your prompt shows in direct chats with the owner. Use it when the owner asks you there to remember or forget something, or tells you what will matter for long and does not belong in USER.md.',
    parameters,
    role: 'owner',
    // Words that named one line before a change may name another one after it: after a crash its outcome is unknown.
    effect: 'effect',
    plan: (params, { call, person }) => {
      const { fact, replaces = '' } = params;
      const about = [{ kind: 'memory', target: blank(fact) ? replaces : fact }] as const;
      if (!isOwnersWish(person)) {
        return {
          denied: 'The memory is only changed when the owner asks for it in a direct chat; this is not one.',
          about,
        };
      }
      return { run: () => write(memory, params, call), reaches: reached(params), about };
    },
  });
}

async function write(memory: FactStore, { fact, replaces, section }: Params, call: CallIds): Promise<ToolResult> {
  const title = 'memory';
  if (blank(fact) && blank(replaces)) {
    return errorResult(title, 'Nothing was done: give a fact, or with replaces the words of the line to remove.');
  }
  if (fact.length > LONGEST_FACT) {
    return errorResult(title, `Nothing was done: the fact has ${fact.length} characters, at most ${LONGEST_FACT} fit.`);
  }
  const change = {
    fact,
    ...(blank(replaces) ? {} : { replaces }),
    ...(blank(section) ? {} : { section }),
  };
  const done = await memory.change(change, call);
  switch (done.outcome) {
    case 'added':
      return { title: 'remembered', output: `Added: ${done.fact}${besides(done.near)}`, metadata: {}, private: true };
    case 'changed':
      return { title: 'memory changed', output: `It says now: ${done.fact}`, metadata: {}, private: true };
    case 'removed':
      return { title: 'memory changed', output: `Removed: ${done.fact}`, metadata: {}, private: true };
    case 'unchanged': {
      const left = blank(replaces) ? '' : ' No other line was touched; an empty fact removes one.';
      return { title: 'known already', output: `It is there: ${done.fact}${left}`, metadata: {}, private: true };
    }
    case 'no-match':
    case 'ambiguous':
      return { ...errorResult(title, refusal(done)), private: true };
  }
}

/** Asks whether facts that are near to an added one still hold. */
function besides(near: readonly string[] = []): string {
  if (near.length === 0) return '';
  const list = near.map((fact) => `\n- ${fact}`).join('');
  return `\nThese lines are close to it:${list}\nIf one of them no longer holds, call memory_write with the same fact again, and with that whole line as replaces. Leave those that still hold.`;
}

/** The memory belongs to the owner: no one and nothing else changes it. */
function isOwnersWish({ role, origin, chatType }: CallPerson): boolean {
  return role === 'owner' && (origin === 'user' || origin === 'api') && chatType === 'direct';
}

/** All of the change, for a person to agree to. */
function reached({ fact, replaces, section }: Params): DeclaredAction {
  const detail = [
    blank(fact) ? 'Remove a line' : `Write: ${fact}`,
    ...(blank(replaces) ? [] : [`${blank(fact) ? 'The line with' : 'In place of the line with'}: ${replaces}`]),
    ...(blank(section) ? [] : [`Under: ${section}`]),
  ].join('\n');
  return {
    action: { kind: 'lasting-write', target: 'memory' },
    title: 'Change the memory (memory/MEMORY.md)',
    detail,
  };
}

function refusal(found: {
  readonly outcome: 'no-match' | 'ambiguous';
  readonly candidates: readonly string[];
}): string {
  const list = found.candidates.map((candidate) => `\n- ${candidate}`).join('');
  if (found.outcome === 'ambiguous')
    return `Nothing was done: more than one line has these words. Give replaces more words, so that it names one of:${list}`;
  const close = list === '' ? '' : ` These come close:${list}`;
  return `Nothing was done: no line has these words.${close}`;
}

function blank(text: string | undefined): text is undefined | '' {
  return text === undefined || text.trim() === '';
}
