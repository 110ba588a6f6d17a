import type { CliContext } from './context.ts';
import { textFlag } from './flags.ts';
import { openAssistant } from './open.ts';
import { indented, json, escapeInvisible } from './format.ts';

type Flags = Readonly<Record<string, unknown>>;

/** `assistant approvals [list]`. */
export async function approvalsListCommand(flags: Flags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const all = await assistant.port.request('approvalsList', {});
  const lines = [
    ...all.remembered.map((one) => `${one.id}  ${shown(one)}  (by ${one.createdBy}, ${minute(one.createdAt)})`),
    ...all.waiting.flatMap(({ code, session, title, detail, reason, deadline }) => [
      `${title}? (${session}, until ${minute(deadline)}) ${reason}`,
      indented(detail, '  │ '),
      `  answer in a chat with /approve ${code} or /deny ${code}`,
    ]),
  ];
  print(context, flags, all, lines.length === 0 ? ['Nothing is allowed for good, and no question waits.'] : lines);
  return 0;
}

/** `assistant approvals forget ID`. */
export async function approvalsForgetCommand(
  flags: Flags,
  context: CliContext,
  [id = '']: readonly string[],
): Promise<number> {
  await using assistant = await openAssistant(context, textFlag(flags, 'home'));
  const forgotten = await assistant.port.request('approvalsForget', { id });
  print(context, flags, { forgotten }, [`It asks again before it runs ${shown(forgotten)}.`]);
  return 0;
}

/** As it could be typed into a shell. */
function shown({ program, folder }: { readonly program: readonly string[]; readonly folder: string }): string {
  const words = program.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
  return `${words.join(' ')} in ${folder}`;
}

function minute(at: number): string {
  return `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function print(context: CliContext, flags: Flags, facts: object, lines: readonly string[]): void {
  const text = flags['json'] === true ? json(facts) : escapeInvisible(lines.join('\n'));
  context.stdout.write(`${text}\n`);
}
