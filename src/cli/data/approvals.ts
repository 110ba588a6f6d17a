import type { CliContext } from '../../core/cli/context.ts';
import { openAssistant, zoneOf } from '../open.ts';
import { indented } from '../../core/util/text.ts';
import { localMinute } from '../../core/util/time-zone.ts';
import { print } from '../../core/cli/print.ts';
import type { OutputFlags } from '../../core/cli/command.ts';

/** `assistant approvals [list]`. */
export async function approvalsListCommand({ home, json }: OutputFlags, context: CliContext): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const all = await assistant.port.call('approvalsList', {});
  const zone = await zoneOf(context, home);
  const minute = (at: number): string => localMinute(at, zone);
  const lines = [
    ...all.remembered.map((one) => `${one.id}  ${shown(one)}  (by ${one.createdBy}, ${minute(one.createdAt)})`),
    ...all.waiting.flatMap(({ code, session, title, detail, reason, deadline }) => [
      `${title}? (${session}, until ${minute(deadline)}) ${reason}`,
      indented(detail, '  │ '),
      `  answer in a chat with /approve ${code} or /deny ${code}`,
    ]),
  ];
  print(context, json, { facts: all, lines, nothing: 'No command is allowed for good, and no question is waiting.' });
  return 0;
}

/** `assistant approvals forget ID`. */
export async function approvalsForgetCommand(
  { id, home, json }: OutputFlags & { readonly id: string },
  context: CliContext,
): Promise<number> {
  await using assistant = await openAssistant(context, home);
  const forgotten = await assistant.port.call('approvalsForget', { id });
  const lines = [`The assistant asks again before it runs ${shown(forgotten)}.`];
  print(context, json, { facts: { forgotten }, lines });
  return 0;
}

/** A remembered command, quoted as for a shell, and its folder. */
function shown({ program, folder }: { readonly program: readonly string[]; readonly folder: string }): string {
  const words = program.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
  return `${words.join(' ')} in ${folder}`;
}
