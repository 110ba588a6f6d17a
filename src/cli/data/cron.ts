import type { CronInfo } from '../../gateway/operations/schedule.ts';
import { confirm } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { openAssistant } from '../open.ts';
import { escapeInvisible } from '../format.ts';
import { print } from '../print.ts';
import type { OutputFlags } from '../table/command.ts';

interface AddFlags extends OutputFlags {
  readonly when: string;
  readonly text: string;
  readonly kind: 'message' | 'agent' | 'command';
  readonly id: string | undefined;
  readonly zone: string | undefined;
  readonly chat: string | undefined;
  readonly session: 'own' | 'main' | undefined;
}

/** `assistant cron [list]`. */
export async function cronListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  show(context, json, await assistant.port.request('cron', { action: 'list' }));
  return 0;
}

/** `assistant cron add WHEN TEXT`. */
export async function cronAddCommand(flags: AddFlags, context: CliContext): Promise<number> {
  const { when, text, kind, id, zone, chat, session, home, json } = flags;
  await using assistant = await openAssistant(context, home);
  const added = await assistant.port.request('cron', {
    action: 'add',
    job: {
      when,
      text,
      kind,
      ...(id === undefined ? {} : { id }),
      ...(zone === undefined ? {} : { zone }),
      ...(chat === undefined ? {} : { chat }),
      ...(session === 'main' ? { session } : {}),
    },
  });
  show(context, json, added);
  return 0;
}

/** `assistant cron show|remove|disable|run ID`. */
export function cronOneCommand(
  action: 'show' | 'remove' | 'disable' | 'run',
): (flags: OutputFlags & { readonly id: string }, context: CliContext) => Promise<number> {
  return async ({ id, home, json }, context) => {
    await using assistant = await openAssistant(context, home);
    show(context, json, await assistant.port.request('cron', { action, id }));
    return 0;
  };
}

/** `assistant cron enable ID`. */
export async function cronEnableCommand(
  { id, yes, home, json }: OutputFlags & { readonly id: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const found = await assistant.port.request('cron', { action: 'list' });
  const job = found.jobs.find((one) => one.id === id);
  if (job?.state !== 'waiting') {
    show(context, json, await assistant.port.request('cron', { action: 'enable', id }));
    return 0;
  }
  const shown = `${job.id}: ${job.kind}, ${job.schedule}, to ${job.chat}\n${job.text}\n\nIt was found in cron/jobs.json, and no one has approved it.\n`;
  context.stderr.write(escapeInvisible(shown));
  if (!(await confirm(context, 'Let exactly this run?', { yes }))) return 1;
  show(context, json, await assistant.port.request('cron', { action: 'enable', id, code: job.code }));
  return 0;
}

function show(context: CliContext, json: boolean, { jobs, runs, text }: CronInfo): void {
  print(context, json, { facts: { jobs, runs }, lines: [plain(text)] });
}

/** Without the marks that a chat turns into type. */
function plain(markdown: string): string {
  return markdown.replaceAll('`', '').replaceAll(/^- /gmu, '');
}
