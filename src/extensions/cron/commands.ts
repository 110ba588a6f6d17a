import { AppError, assistantCommand, sleep } from '../../core/api.ts';
import {
  type CliContext,
  confirm,
  escapeInvisible,
  openAssistant,
  type OutputFlags,
  type Shown,
  print,
} from '../../core/api-cli.ts';
import type { CronAnswer } from './operation.ts';

/** Between two looks at a run. */
const LOOK_MS = 300;
/** How long a run is waited for: until it begins, and until it ends. */
const MOST_WAITING_MS = 15_000;
const MOST_RUNNING_MS = 600_000;

/** What the schedule answered. */
export function cronShown({ jobs, runs, text }: CronAnswer): Shown {
  return { facts: { jobs, runs }, lines: [plain(text)] };
}

/** `assistant cron run ID`. Waits for the end of the run and fails as the run did. */
export async function cronRunCommand(
  { id, home, json }: OutputFlags & { readonly id: string },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const { port } = assistant;
  const begun = await port.call('cron', { action: 'run', id });
  if (!json) show(context, json, begun);
  const startedAt = context.clock.monotonic();
  let shown = await port.call('cron', { action: 'show', id });
  for (;;) {
    const execution = shown.runs[0]?.execution;
    const mostMs = execution === 'waiting' ? MOST_WAITING_MS : execution === 'running' ? MOST_RUNNING_MS : 0;
    if (context.clock.monotonic() - startedAt >= mostMs) break;
    await sleep(context.clock, LOOK_MS);
    shown = await port.call('cron', { action: 'show', id });
  }
  if (json) show(context, json, shown);
  const [run] = shown.runs;
  if (run === undefined) return 0;
  const { execution, reason, turnId } = run;
  const why =
    reason !== null ? ` ${plain(reason)}` : turnId === null ? '' : ` Why: ${assistantCommand(`why ${turnId}`)}.`;
  const how = assistantCommand(`cron show ${id}`);
  switch (execution) {
    case 'waiting':
    case 'running':
      if (!json) context.stdout.write(`It is still ${execution}. How it ended: ${how}\n`);
      return 0;
    case 'ok':
    case 'silent':
      if (!json) context.stdout.write(execution === 'ok' ? 'It is done.\n' : 'It is done and had nothing to report.\n');
      return 0;
    default:
      throw new AppError(
        'cron-failed',
        `The job ${id} ${execution === 'failed' ? 'failed' : `was ${execution}`}.${why} Run it again: ${assistantCommand(`cron run ${id}`)}. Its runs: ${how}.`,
      );
  }
}

/** `assistant cron enable ID`. */
export async function cronEnableCommand(
  { id, yes, home, json }: OutputFlags & { readonly id: string; readonly yes: boolean },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const found = await assistant.port.call('cron', { action: 'list' });
  const job = found.jobs.find((one) => one.id === id);
  if (job?.state !== 'waiting') {
    show(context, json, await assistant.port.call('cron', { action: 'enable', id }));
    return 0;
  }
  const shown = `${job.id}: ${job.kind}, ${job.schedule}, to ${job.chat}\n${job.text}\n\nIt was found in cron/jobs.json, and no one has approved it.\n`;
  context.stderr.write(escapeInvisible(shown));
  if (!(await confirm(context, 'Let exactly this run?', { yes }))) return 1;
  show(context, json, await assistant.port.call('cron', { action: 'enable', id, code: job.code }));
  return 0;
}

function show(context: CliContext, json: boolean, answer: CronAnswer): void {
  print(context, json, { facts: null, ...cronShown(answer) });
}

/** Without the marks that a chat turns into type. */
function plain(markdown: string): string {
  return markdown.replaceAll('`', '').replaceAll(/^- /gmu, '');
}
