import type { RequestResult } from '../../core/gateway/operations/operations.ts';
import type { Showing } from '../../core/cli/asking.ts';
import { indented } from '../../core/util/text.ts';

/** `assistant approvals [list]`. */
export function approvalsLines(
  { remembered, waiting }: RequestResult<'approvalsList'>,
  { minute }: Pick<Showing<unknown>, 'minute'>,
): readonly string[] {
  return [
    ...remembered.map((one) => `${one.id}  ${commandText(one)}  (by ${one.createdBy}, ${minute(one.createdAt)})`),
    ...waiting.flatMap(({ code, session, title, detail, reason, deadline }) => [
      `${title}? (${session}, until ${minute(deadline)}) ${reason}`,
      indented(detail, '  │ '),
      `  answer in a chat with /approve ${code} or /deny ${code}`,
    ]),
  ];
}

/** A remembered command, quoted as for a shell, and its folder. */
export function commandText({
  program,
  folder,
}: {
  readonly program: readonly string[];
  readonly folder: string;
}): string {
  const words = program.map((word) => (/^[\w@%+=:,./-]+$/u.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`));
  return `${words.join(' ')} in ${folder}`;
}
