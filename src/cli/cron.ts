import type { CronInfo } from '../gateway/requests.ts';
import { confirm } from './confirm.ts';
import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { json, escapeInvisible } from './format.ts';

type Flags = Readonly<Record<string, unknown>>;
type Words = readonly string[];

/** `assistant cron [list]`. */
export async function cronListCommand(flags: Flags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  print(context, flags, await assistant.port.request('cron', { action: 'list' }));
  return 0;
}

/** `assistant cron add WHEN TEXT`. */
export async function cronAddCommand(flags: Flags, context: CliContext, words: Words): Promise<number> {
  const [when = '', text = ''] = words;
  const [id, zone, chat] = [textFlag(flags, 'id'), textFlag(flags, 'zone'), textFlag(flags, 'chat')];
  const kind = textFlag(flags, 'kind');
  const session = textFlag(flags, 'session');
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const added = await assistant.port.request('cron', {
    action: 'add',
    job: {
      when,
      text,
      kind: kind === 'agent' || kind === 'command' ? kind : 'message',
      ...(id === undefined ? {} : { id }),
      ...(zone === undefined ? {} : { zone }),
      ...(chat === undefined ? {} : { chat }),
      ...(session === 'main' ? { session } : {}),
    },
  });
  print(context, flags, added);
  return 0;
}

/** `assistant cron show|remove|disable|run ID`. */
export function cronOneCommand(
  action: 'show' | 'remove' | 'disable' | 'run',
): (flags: Flags, context: CliContext, words: Words) => Promise<number> {
  return async (flags, context, [id = '']) => {
    await using assistant = await openAssistant(context, textFlag(flags, 'home'));
    print(context, flags, await assistant.port.request('cron', { action, id }));
    return 0;
  };
}

/** `assistant cron enable ID`. */
export async function cronEnableCommand(flags: Flags, context: CliContext, [id = '']: Words): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const found = await assistant.port.request('cron', { action: 'list' });
  const job = found.jobs.find((one) => one.id === id);
  if (job?.state !== 'waiting') {
    print(context, flags, await assistant.port.request('cron', { action: 'enable', id }));
    return 0;
  }
  const shown = `${job.id}: ${job.kind}, ${job.schedule}, to ${job.chat}\n${job.text}\n\nIt was found in cron/jobs.json, and no one agreed to it.\n`;
  context.stderr.write(escapeInvisible(shown));
  if (!(await confirm(context, 'Let exactly this run?', { yes: flags['yes'] === true }))) return 1;
  print(context, flags, await assistant.port.request('cron', { action: 'enable', id, code: job.code }));
  return 0;
}

function print(context: CliContext, flags: Flags, info: CronInfo): void {
  const text = flags['json'] === true ? json({ jobs: info.jobs, runs: info.runs }) : plain(info.text);
  context.stdout.write(`${text}\n`);
}

/** Without the marks that a chat turns into type. */
function plain(markdown: string): string {
  return escapeInvisible(markdown.replaceAll('`', '').replaceAll(/^- /gmu, ''));
}
