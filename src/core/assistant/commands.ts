import { agentCommand } from '../agent/commands/agent.ts';
import { answerCommands } from '../agent/commands/answers.ts';
import { busyCommand } from '../agent/commands/busy.ts';
import { commaCommand } from '../agent/commands/comma.ts';
import { contextCommand } from '../agent/commands/context.ts';
import { helpCommand } from '../agent/commands/help.ts';
import { memCommand } from '../agent/commands/mem.ts';
import { memoryCommand } from '../agent/commands/memory.ts';
import { modelCommand } from '../agent/commands/model.ts';
import { newCommand } from '../agent/commands/new.ts';
import { pairCommand } from '../agent/commands/pair.ts';
import { restartCommand } from '../agent/commands/restart.ts';
import { retryCommand } from '../agent/commands/retry.ts';
import { skillsCommand } from '../agent/commands/skills.ts';
import { soulCommand } from '../agent/commands/soul.ts';
import { setupCommand, startCommand } from '../agent/commands/start.ts';
import { statusCommand } from '../agent/commands/status.ts';
import { CommandTable } from '../agent/commands/table.ts';
import { tapeCommand } from '../agent/commands/tape.ts';
import { trustCommand } from '../agent/commands/trust.ts';
import { undoCommand } from '../agent/commands/undo.ts';
import { usageCommand } from '../agent/commands/usage.ts';
import { whyCommand } from '../agent/commands/why.ts';
import type { InboundMessage } from '../bus/messages.ts';
import { enabledChannels } from '../config/channels.ts';
import { isOwnersChannel } from '../util/owners-channels.ts';
import { roleNow } from '../people/role-now.ts';
import type { App } from '../app.ts';

/** Every chat command. */
export function createCommands(app: App): CommandTable {
  const { pairing } = app;
  return new CommandTable({
    origins: app.program.origins,
    commands: [
      helpCommand(app),
      newCommand(app),
      retryCommand(app),
      statusCommand(app),
      agentCommand(app),
      whyCommand(app),
      usageCommand(app),
      contextCommand(app),
      modelCommand(app),
      busyCommand(app),
      memCommand(app),
      memoryCommand(app),
      soulCommand(app),
      tapeCommand(app.tape),
      undoCommand(app),
      trustCommand(app),
      skillsCommand(app),
      ...answerCommands,
      pairCommand(app),
      setupCommand,
      // Its channels stay as they are.
      restartCommand(app, async (message) =>
        app.host !== null ? null : lockedOut(app, (await app.rehearse()).config, message),
      ),
      startCommand(app),
    ],
    plugged: () => app.plugins.commands,
    ownerless: (channel) => pairing.ownerless(channel),
    comma: commaCommand(app),
    skills: async () => {
      const skills = await app.skills.read();
      return new Set(skills.filter(({ userInvocable }) => userInvocable).map(({ name }) => name));
    },
  });
}

/** Why the writer of a message would be no owner with this configuration; null: they would be. */
function lockedOut(
  app: App,
  config: App['config'],
  { channel, sender, chatType, chatId: chat }: InboundMessage,
): string | null {
  const { path } = app.loaded;
  if (!isOwnersChannel(channel) && enabledChannels({ config, program: app.program })[channel] === undefined) {
    return `with the configuration as it is now channels.${channel} would stay off, and you could not reach me here. Correct it in ${path}, and send /restart again.`;
  }
  if (roleNow({ config }, app, { channel, id: sender.id, chatType, chat }, 'owner') === 'owner') return null;
  return `with the configuration as it is now you would no longer be an owner here. Put ${sender.id} into channels.${channel}.owners in ${path}, and send /restart again.`;
}
