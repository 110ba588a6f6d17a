import * as z from 'zod';

/** The longest that a command may run. */
export const LONGEST_SECONDS = 600;
export const LONGEST_BACKGROUND_SECONDS = 86_400;

/** What of the configuration the description depends on; as in `ExecOptions`. */
interface Places {
  readonly sandbox: object | null;
  readonly mode: string;
  readonly network: boolean;
  readonly readRoots?: readonly string[];
}

/** What the model is told of the tool. */
export function descriptionOf(options: Places): string {
  return `Run a bash command on the machine of the owner; returns its output and exit code. For files use read_file, glob, grep and edit_file, but delete and move them here. Each call is a new shell without input, ${placesOf(options)} Processes left running are stopped. Of a long output the middle is lost: write it to a file.`;
}

/** Where commands can read and write, as configured. */
function placesOf({ sandbox, mode, network, readRoots = [] }: Places): string {
  if (sandbox === null) {
    const asked = mode === 'full' ? '' : ' The owner is asked first.';
    return `without a sandbox: it can read and write what the account of the assistant can, and use the internet.${asked}`;
  }
  const read = [...readRoots, 'system programs'].join(', ');
  const internet = network ? 'with' : 'without';
  return `in a sandbox ${internet} internet: it writes in the workspace alone; it also reads ${read} and skills. Where no sandbox works, the owner is asked first.`;
}

/** `seconds`: the limit of a command that names none. */
export function parametersFor(seconds: number) {
  return z.object({
    command: z.string().min(1).describe('Command line for bash, e.g. git log --oneline | head -5.'),
    cwd: z
      .string()
      .min(1)
      .optional()
      .describe('Folder in the workspace to run it in, e.g. projects/site. Default: the workspace.'),
    network: z
      .boolean()
      .optional()
      .describe('True gives the sandbox the internet; the owner may be asked. Default: false.'),
    outside: z
      .boolean()
      .optional()
      .describe(
        'True runs it outside the sandbox, with the internet and all files, e.g. to install programs; the owner is asked. Default: false.',
      ),
    background: z
      .boolean()
      .optional()
      .describe(
        'True lets it run on, for servers and long work. The result names its id for the process tool; its end starts a new turn of yours. Default: false.',
      ),
    timeoutSeconds: z
      .number()
      .positive()
      .max(LONGEST_BACKGROUND_SECONDS)
      .optional()
      .describe(
        `Seconds after which it is ended, at most ${LONGEST_SECONDS}; in the background at most and by default ${LONGEST_BACKGROUND_SECONDS}. Default: ${seconds}.`,
      ),
  });
}

export type ExecParams = z.infer<ReturnType<typeof parametersFor>>;
