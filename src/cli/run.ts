import { Command, CommanderError, Option } from 'commander';
import { readVersion } from '../config/version.ts';
import { assistantCommand } from '../util/assistant-command.ts';
import { AppError, errorMessage } from '../util/errors.ts';
import { processContext, type CliContext } from './context.ts';
import { homeFlag, isDebugging } from './flags.ts';
import { terminalText } from './format.ts';
import { pointToOwnHelp, requireKnownCommands, USAGE_ERROR, withoutHelpWord } from './usage.ts';

type Flags = Readonly<Record<string, unknown>>;
type CommandRunner = (flags: Flags, context: CliContext, words: readonly string[]) => Promise<number>;

/** Runs this process's command line and ends the process. */
export async function main(): Promise<void> {
  const context = processContext();
  // A reader such as `head` may close the pipe early.
  process.stdout.on('error', () => process.exit(0));
  const code = await run(process.argv.slice(2), context);
  process.stdout.write('', () => process.exit(code));
}

/** Runs one command line; resolves with the exit code and never rejects. Each command is loaded when it is called. */
export async function run(argv: readonly string[], context: CliContext): Promise<number> {
  const outcome = { code: 0 };
  try {
    const program = buildProgram(context, (code) => {
      outcome.code = code;
    });
    const words = withoutHelpWord(argv.length === 0 ? ['--help'] : argv);
    requireKnownCommands(program, words);
    await program.parseAsync([...words], { from: 'user' });
    return outcome.code;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : USAGE_ERROR;
    const disk =
      error instanceof AppError
        ? null
        : (await import('../app/disk-sentence.ts')).diskSentence(error, homeFlag(argv), context.env);
    const isKnown = disk !== null || error instanceof AppError;
    context.stderr.write(
      `${isKnown ? '' : 'Something unexpected went wrong: '}${terminalText(disk ?? errorMessage(error))}\n`,
    );
    if (isKnown) return error instanceof AppError ? error.exitCode : 1;
    const stack = error instanceof Error && (await isDebugging(context, argv)) ? (error.stack ?? '') : '';
    if (stack !== '') context.stderr.write(`${terminalText(stack)}\n`);
    return 1;
  }
}

function buildProgram(context: CliContext, done: (code: number) => void): Command {
  const program = new Command('assistant')
    .description('A personal assistant that you host yourself.')
    .option('--home <folder>', 'where it lives (default: $ASSISTANT_HOME, or ~/.assistant)')
    .version(readVersion(), '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show help')
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText(
      'after',
      `\nStart with: ${assistantCommand('gateway')}, or talk right here: ${assistantCommand('chat')}`,
    )
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => context.stdout.write(terminalText(text)),
      writeErr: (text) => context.stderr.write(terminalText(text)),
    })
    .exitOverride();
  const action =
    (load: () => Promise<CommandRunner>) =>
    async (...given: unknown[]): Promise<void> => {
      const command = given.at(-1);
      if (!(command instanceof Command)) return;
      const runner = await load();
      done(await runner(command.optsWithGlobals(), context, command.args));
    };

  program
    .command('gateway')
    .description('run the assistant: chat platforms, schedule, HTTP')
    .option('--port <number>', 'port for HTTP (0: any)')
    .action(action(async () => (await import('./gateway.ts')).gatewayCommand));
  program
    .command('chat')
    .description('talk to it in this terminal, attached to a running gateway or alone')
    .option('-m, --message <text>', 'say this, print the answer and end ("-": read it from stdin)')
    .option('--json', 'print the answer and its facts as JSON')
    .addOption(
      new Option('--image <path>', 'send an image with the message; may be repeated').argParser(
        (path: string, before: readonly string[] | undefined) => [...(before ?? []), path],
      ),
    )
    .option('--model <ref>', 'use this model, e.g. anthropic/claude-sonnet-5-5')
    .option('--session <name>', 'the conversation to continue', 'main')
    .option('--timeout <seconds>', 'stop after this many seconds; the exit code is then 1')
    .addHelpText(
      'after',
      '\nExit codes: 0 it answered; 1 the turn failed, timed out, or something in it was refused; 130 Ctrl-C.',
    )
    .action(action(async () => (await import('./chat.ts')).chatCommand));
  program
    .command('init')
    .description('make a home: settings and workspace; never overwrites')
    .action(action(async () => (await import('./init.ts')).initCommand));
  program
    .command('status')
    .description('show what is running')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./status.ts')).statusCommand));
  program
    .command('prompt')
    .description('show what its model is sent before the conversation, and how large each part is')
    .option('--session <key>', 'the session, e.g. telegram:123456789', 'terminal:main')
    .option('--full', 'with the whole text of the system prompt and of every tool')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./prompt.ts')).promptCommand));
  program
    .command('store')
    .description('the databases of the home')
    .command('vacuum')
    .description('make them smaller; the assistant must not be running')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./store.ts')).storeVacuumCommand));
  const tools = program.command('tools').description('its tools');
  tools
    .command('list', { isDefault: true })
    .description('list the tools')
    .option('--json', 'as JSON, with their parameters')
    .action(action(async () => (await import('./tools.ts')).toolsListCommand));
  tools
    .command('run')
    .description('run a tool as a turn would, and print {decision, reason, result}')
    .argument('<name>', 'the tool')
    .argument('[arguments]', 'its arguments as JSON', '{}')
    .option('--dry-run', 'only decide, run nothing')
    .action(action(async () => (await import('./tools.ts')).toolsRunCommand));
  const memory = program.command('memory').description('its long-term memory, and earlier versions of it');
  memory
    .command('show', { isDefault: true })
    .description('show the memory, or an earlier version of it')
    .argument('[version]', 'from the log')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./memory.ts')).memoryShowCommand));
  memory
    .command('log')
    .description('list the earlier versions, newest first')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./memory.ts')).memoryLogCommand));
  memory
    .command('restore')
    .description('bring an earlier version back; the present one is kept too')
    .argument('<version>', 'from the log')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./memory.ts')).memoryRestoreCommand));
  const pair = program.command('pair').description('people let in by pairing code');
  pair
    .command('list', { isDefault: true })
    .description('list who is paired, and who waits with a code')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./pair.ts')).pairListCommand));
  pair
    .command('approve')
    .description('approve the person who received this code')
    .argument('<code>', 'the code that the person told you, or CHANNEL:ID of a person who is paired')
    .option('--owner', 'as an owner, who may do everything')
    .option('--trusted', 'as a trusted person (default)')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./pair.ts')).pairApproveCommand));
  pair
    .command('remove')
    .description('remove a person, who may then no longer write to it')
    .argument('<person>', 'channel and id, such as telegram:123456789')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./pair.ts')).pairRemoveCommand));
  const cron = program.command('cron').description('reminders and scheduled tasks');
  cron
    .command('list', { isDefault: true })
    .description('list what is scheduled')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./cron.ts')).cronListCommand));
  cron
    .command('add')
    .description('schedule something')
    .argument('<when>', '"in 20m", "tomorrow at 9", "2027-03-01T09:00", "every 2h" or "0 9 * * 1-5"')
    .argument('<text>', 'the message, or with --kind the task or command')
    .addOption(
      new Option('--kind <kind>', 'message: the text is sent; agent: it is a task; command: a comma command')
        .choices(['message', 'agent', 'command'])
        .default('message'),
    )
    .option('--id <id>', 'its name (default: made of the text)')
    .option('--zone <zone>', 'time zone, e.g. Europe/Vienna')
    .option('--chat <chat>', 'where it speaks, e.g. telegram:123456789 (default: where the owner last wrote)')
    .addOption(
      new Option('--session <which>', 'a conversation of its own, or that of the chat').choices(['own', 'main']),
    )
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./cron.ts')).cronAddCommand));
  for (const [name, description] of [
    ['show', 'show one, and its last 20 runs'],
    ['remove', 'remove one'],
    ['disable', 'switch one off'],
    ['run', 'run one now'],
  ] as const) {
    cron
      .command(name)
      .description(description)
      .argument('<id>', 'from the list')
      .option('--json', 'as JSON')
      .action(action(async () => (await import('./cron.ts')).cronOneCommand(name)));
  }
  cron
    .command('enable')
    .description('switch one on; asks about one that was only found in cron/jobs.json')
    .argument('<id>', 'from the list')
    .option('--yes', 'do not ask')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./cron.ts')).cronEnableCommand));
  const approvals = program
    .command('approvals')
    .description('commands that an owner allowed for good, and open questions');
  approvals
    .command('list', { isDefault: true })
    .description('list what runs without a question, and which questions wait for an answer')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./approvals.ts')).approvalsListCommand));
  approvals
    .command('forget')
    .description('ask again for a command that was allowed for good')
    .argument('<id>', 'from the list')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./approvals.ts')).approvalsForgetCommand));
  program
    .command('plugins')
    .description('packages that bring channels, tools or hooks')
    .command('list', { isDefault: true })
    .description('list the plugins, also those that are not enabled')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./plugins.ts')).pluginsListCommand));
  for (const [name, about] of [
    ['outbox', 'messages waiting to be sent, or undeliverable'],
    ['inbox', 'messages that have not been answered'],
  ] as const) {
    const mail = program.command(name).description(about);
    const load = async () => await import('./mail.ts');
    mail
      .command('list', { isDefault: true })
      .description(`list ${about}`)
      .option('--json', 'as JSON')
      .action(
        action(async () => {
          const { outboxListCommand, inboxListCommand } = await load();
          return name === 'outbox' ? outboxListCommand : inboxListCommand;
        }),
      );
    mail
      .command('retry')
      .description(name === 'outbox' ? 'send it again' : 'answer it after all')
      .argument('<id>', 'from the list')
      .option('--json', 'as JSON')
      .action(
        action(async () =>
          (await load()).mailCommand(`${name}Retry`, name === 'outbox' ? 'It is sent again.' : 'It gets a turn.'),
        ),
      );
    mail
      .command('drop')
      .description(name === 'outbox' ? 'do not send it' : 'do not answer it')
      .argument('<id>', 'from the list')
      .option('--json', 'as JSON')
      .action(
        action(async () =>
          (await load()).mailCommand(`${name}Drop`, name === 'outbox' ? 'It is not sent.' : 'It is not answered.'),
        ),
      );
  }
  program
    .command('why')
    .description('show what it did on its own, and why it did or did not tell you')
    .option('--last <count>', 'how many entries to show (default: 30)')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./why.ts')).whyCommand));
  program
    .command('audit')
    .description('the calls that needed a decision: who asked, and what was decided')
    .option('--last <count>', 'how many entries to show (default: 30)')
    .option('--about <text>', 'only with this text in the call, the session, the person or the turn')
    .option('--asked', 'only what was refused or needed an answer')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./audit.ts')).auditCommand));
  const mcp = program.command('mcp').description('MCP servers, and the tools of theirs that you agreed to');
  mcp
    .command('list', { isDefault: true })
    .description('list the servers of the configuration')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./mcp.ts')).mcpListCommand));
  mcp
    .command('test')
    .description('start a server and show what it offers')
    .argument('<name>', 'the server')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./mcp.ts')).mcpTestCommand));
  mcp
    .command('trust')
    .description('show what a server offers now, ask, and use that from now on')
    .argument('<name>', 'the server')
    .option('--yes', 'do not ask')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./mcp.ts')).mcpTrustCommand));
  const skills = program.command('skills').description('its skills: instructions for kinds of tasks');
  skills
    .command('list', { isDefault: true })
    .description('list the skills')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./skills.ts')).skillsListCommand));
  skills
    .command('show')
    .description('show a skill and its text')
    .argument('<name>', 'the skill')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./skills.ts')).skillsShowCommand));
  skills
    .command('check')
    .description('look for what is odd, missing or risky in skills')
    .argument('[skill]', 'a name or a folder (default: all)')
    .option('--json', 'as JSON')
    .action(action(async () => (await import('./skills.ts')).skillsCheckCommand));
  skills
    .command('add')
    .description('show what is in a skill, ask, and copy it into the workspace')
    .argument('<path>', 'its folder, or its SKILL.md')
    .option('--yes', 'do not ask')
    .option('--replace', 'put it in the place of one with the same name')
    .action(action(async () => (await import('./skills.ts')).skillsAddCommand));
  skills
    .command('enable')
    .description('show what another program brought, ask, and use it as it is now')
    .argument('[name]', 'the skill')
    .option('--all', 'each of them')
    .option('--yes', 'do not ask')
    .action(action(async () => (await import('./skills.ts')).skillsEnableCommand));
  skills
    .command('remove')
    .description('remove a skill of the workspace')
    .argument('<name>', 'the skill')
    .option('--yes', 'do not ask')
    .action(action(async () => (await import('./skills.ts')).skillsRemoveCommand));
  pointToOwnHelp(program);
  return program;
}
