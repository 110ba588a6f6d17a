import type { App } from '../../app.ts';
import { escapeControlChars } from '../../security/text/control-characters.ts';
import { oneLine, plural } from '../../util/text.ts';
import type { ChatCommand } from './command.ts';

/** At most this many paths are listed. */
const MOST = 20;
const LONGEST_PATH = 200;

/** /trust: lists what may hold text by others, or clears the marks of a file or folder that the owner trusts. */
export const trustCommand = ({ marks }: App): ChatCommand => ({
  name: 'trust',
  description: 'list the files that others may have helped to write; `/trust PATH` if you trust a file or folder',
  role: 'owner',
  priority: false,
  interrupts: false,
  repeatable: true,
  run: async ({ args }) => {
    const given = args.trim().replace(/^(["'`])(.+)\1$/u, '$2');
    if (given === '') {
      const all = marks.count('/');
      if (all === 0) return 'I don’t know of any file that others helped to write.';
      const shown = marks.below('/', MOST).map((path) => `- ${code(marks.nameOf(path))}`);
      const rest = all > MOST ? [`… and ${all - MOST} more`] : [];
      return [
        'Others may have helped to write these files. If you trust one, send `/trust` and its path:',
        ...shown,
        ...rest,
      ].join('\n');
    }
    const path = marks.realOf(given);
    const gone = await marks.forget(path);
    const above = marks.folderAbove(path);
    const name = code(marks.nameOf(path) || 'the workspace');
    if (above !== null)
      return `${name} is still untrusted because it is in ${code(marks.nameOf(above))}; trust that folder with \`/trust ${marks.nameOf(above)}\`.`;
    if (await marks.isUntrusted([path], 'guest'))
      return `${name} is in a folder whose files are always untrusted. If you trust it, move it to another folder.`;
    if (gone === 0) return `${name} isn’t marked, so there’s nothing to clear.`;
    return `I trust ${name} from now on${gone === 1 ? '' : ` (${plural(gone, 'mark')} cleared)`}.`;
  },
});

/** A path as code, because it may contain Markdown. */
function code(path: string): string {
  return `\`${oneLine(escapeControlChars(path), LONGEST_PATH).replaceAll('`', '´')}\``;
}
