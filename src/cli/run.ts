import { Command, CommanderError } from 'commander';
import { resolveHome } from '../core/config/environment.ts';
import { readVersion } from '../core/config/version.ts';
import { assistantCommand, suggestingHome } from '../core/util/assistant-command.ts';
import { AppError, errorMessage } from '../core/util/errors.ts';
import { processContext, type CliContext } from '../core/cli/context.ts';
import { terminalText } from '../core/cli/format.ts';
import { candidates, COMPLETE } from './candidates.ts';
import { refuseOthersHome } from './other-owner.ts';
import { addCommands, helpWidth } from './table/build.ts';
import { exitCodes } from '../core/cli/command.ts';
import type { Program } from '../core/program.ts';
import { commandsOf } from './table/table.ts';
import { pointToOwnHelp, requireKnownCommands, USAGE_ERROR, withoutHelpWord } from '../core/cli/usage.ts';

/** Runs this process's command line and ends the process. */
export async function main(program: Program): Promise<void> {
  const context = processContext(program);
  // A reader such as `head` may close the pipe early.
  process.stdout.on('error', () => process.exit(0));
  const code = await run(process.argv.slice(2), context);
  process.stdout.write('', () => process.exit(code));
}

/** Runs one command line; resolves with the exit code and never rejects. Each command is loaded when it is called. */
export function run(argv: readonly string[], context: CliContext): Promise<number> {
  return suggestingHome(homeFlag(argv), () => runLine(argv, context));
}

async function runLine(argv: readonly string[], context: CliContext): Promise<number> {
  const outcome = { code: 0 };
  try {
    if (argv[0] === COMPLETE) {
      context.stdout.write(
        candidates(commandsOf(context.program), argv.slice(1))
          .map((line) => `${line}\n`)
          .join(''),
      );
      return 0;
    }
    const words = withoutHelpWord(argv.length === 0 ? ['--help'] : argv);
    const program = await programOf(words, context, (code) => {
      outcome.code = code;
    });
    program.hook('preAction', (_program, action) => {
      const name = action.parent === program || action.parent === null ? action.name() : action.parent.name();
      refuseOthersHome(name, argv, resolveHome({ flag: homeFlag(argv), env: context.env }));
    });
    await program.parseAsync([...words], { from: 'user' });
    return outcome.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    const hasOwnWords = error instanceof AppError && error.cause === undefined;
    const trouble = hasOwnWords
      ? null
      : (await import('../core/stores/home-trouble.ts')).homeTrouble(error, homeFlag(argv), context.env);
    const isKnown = trouble !== null || error instanceof AppError;
    context.stderr.write(
      `${isKnown ? '' : 'Something unexpected went wrong: '}${terminalText(trouble ?? errorMessage(error))}\n`,
    );
    if (isKnown) return error instanceof AppError ? error.exitCode : 1;
    const stack = error instanceof Error && (await isDebugging(context, argv)) ? (error.stack ?? '') : '';
    if (stack !== '') context.stderr.write(`${terminalText(stack)}\n`);
    context.stderr.write(`To look for the cause: ${assistantCommand('doctor')}\n`);
    return 1;
  }
}

/** A word that is no command of the program itself may be one of a package's, which is loaded for that alone. */
async function programOf(
  words: readonly string[],
  context: CliContext,
  done: (code: number) => void,
): Promise<Command> {
  const own = buildProgram(context, done);
  try {
    requireKnownCommands(own, words);
    return own;
  } catch (error) {
    refuseOthersHome(words[0] ?? '', words, resolveHome({ flag: homeFlag(words), env: context.env }));
    const { pathsOf, programOfHome } = await import('../core/cli/open.ts');
    const program = await programOfHome(context, pathsOf(context, homeFlag(words)));
    if (program === context.program) throw error;
    const whole = buildProgram({ ...context, program }, done);
    requireKnownCommands(whole, words);
    return whole;
  }
}

function buildProgram(context: CliContext, done: (code: number) => void): Command {
  const root = new Command('assistant')
    .description('A personal assistant that you host yourself.')
    .option('--home <folder>', 'home folder of the assistant (default: $ASSISTANT_HOME, or ~/.assistant)')
    .option('--agent <name>', 'a further assistant of that home, or a home of that machine')
    .version(readVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText(
      'after',
      `\nStart with: ${assistantCommand('gateway')}, or talk right here: ${assistantCommand('chat')}\n\n${exitCodes()}`,
    )
    .configureHelp({ showGlobalOptions: true, minWidthToWrap: 20 })
    .configureOutput({
      writeOut: (text) => context.stdout.write(terminalText(text)),
      getOutHelpWidth: () => helpWidth(context),
      writeErr: (text) => context.stderr.write(terminalText(text)),
    })
    .exitOverride();
  addCommands(root, commandsOf(context.program), { context, done });
  pointToOwnHelp(root);
  return root;
}

/** The value of `--home` in a command line, read without a parser because the parser may have failed. */
function homeFlag(argv: readonly string[]): string | undefined {
  const joined = argv.find((word) => word.startsWith('--home='));
  return joined?.slice('--home='.length) ?? argv[argv.indexOf('--home') + 1 || argv.length];
}

/** Whether the home of this command line has log level `debug`; looked up only after a failure. */
async function isDebugging(context: CliContext, argv: readonly string[]): Promise<boolean> {
  try {
    const { loadConfig } = await import('../core/config/load.ts');
    const home = resolveHome({ flag: homeFlag(argv), env: context.env });
    return (await loadConfig({ program: context.program, home, env: context.env })).config.log.level === 'debug';
  } catch {
    return false;
  }
}
