import * as z from 'zod';
import type { TurnSkills } from '../../agent/prompt/active-skills.ts';
import type { Consolidation } from '../../agent/consolidation/consolidation.ts';
import type { Questions } from '../../agent/questions/questions.ts';
import type { Undo } from '../../agent/undo/undo.ts';
import { agentCommand } from '../../agent/commands/agent.ts';
import { answerCommands } from '../../agent/commands/answers.ts';
import { busyCommand, type BusyChoice } from '../../agent/commands/busy.ts';
import { busyModeOf } from '../../agent/message-batching.ts';
import { commaCommand } from '../../agent/commands/comma.ts';
import type { ChatCommand, CommandContext, ModelChoice, StatusReport } from '../../agent/commands/command.ts';
import { contextCommand, type PromptReport } from '../../agent/commands/context.ts';
import { helpCommand } from '../../agent/commands/help.ts';
import { modelCommand } from '../../agent/commands/model.ts';
import { newCommand } from '../../agent/commands/new.ts';
import { pairCommand, type PairingPort } from '../../agent/commands/pair.ts';
import { restartCommand } from '../../agent/commands/restart.ts';
import { retryCommand } from '../../agent/commands/retry.ts';
import { skillsCommand } from '../../agent/commands/skills.ts';
import { setupCommand, startCommand } from '../../agent/commands/start.ts';
import { statusCommand } from '../../agent/commands/status.ts';
import { CommandTable } from '../../agent/commands/table.ts';
import { tapeCommand } from '../../agent/commands/tape.ts';
import { undoCommand } from '../../agent/commands/undo.ts';
import { usageCommand } from '../../agent/commands/usage.ts';
import { whyCommand } from '../../agent/commands/why.ts';
import { withheldFromRun } from '../../agent/withheld-tools.ts';
import { parseChat, type InboundMessage } from '../../bus/messages.ts';
import { factText } from '../../providers/learned.ts';
import { enabledChannels } from '../../config/channels.ts';
import type { SkillCatalog } from '../../skills/catalog.ts';
import type { EditorFiles } from '../../tools/files/editor-files.ts';
import { contextOutsideTurn } from '../../tools/registry/outside-turn.ts';
import type { TapeActions } from '../../tools/tape.ts';
import type { ToolContext } from '../../tools/tool.ts';
import { isOwnersChannel } from '../../util/owners-channels.ts';
import { localTime, startOfDay } from '../../util/time-zone.ts';
import { roleNow } from '../automation/automation.ts';
import type { Base } from '../base.ts';
import { fullName, type Models } from './models.ts';
import type { SkillRequests } from '../requests/skill-requests.ts';
import { createPairing } from '../people/pairing.ts';
import type { Stores } from '../storage/stores.ts';
import type { Why } from './why.ts';
import type { Tools } from '../tools/tools.ts';

export interface CommandParts {
  readonly stores: Stores;
  readonly models: Models;
  readonly status: (sessionKey: string) => Promise<StatusReport>;
  readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  readonly tools: Tools;
  readonly tape: TapeActions;
  readonly resetSession: Consolidation['resetSession'];
  readonly catalog: SkillCatalog;
  readonly skillRequests: Pick<SkillRequests, 'skillsSet'>;
  readonly skills: TurnSkills;
  readonly questions: Questions;
  readonly editorFiles: Pick<EditorFiles, 'of'>;
  readonly undo: Undo;
  readonly why: Why;
  /** /cron. */
  readonly cron: ChatCommand;
  /** /mem, /memory and /soul. */
  readonly memory: readonly ChatCommand[];
  /** Undefined where nothing would begin anew. */
  readonly restart: (() => void) | undefined;
}

/** How long ago a message may have failed that /retry finds by its words. */
const RETRY_MS = 7 * 24 * 3_600_000;
/** So that the reply to a /restart is on its way before the process ends. */
const RESTART_DELAY_MS = 500;

/** Every chat command, joined with what it reaches, and who is let in: what is said of that names commands. */
export function createCommands(
  base: Base,
  parts: CommandParts,
): { readonly table: CommandTable; readonly pairing: PairingPort } {
  const { clock } = base;
  const { timezone } = base.config.agent;
  const { status, restart } = parts;
  const { journal } = parts.stores;
  const models: ModelChoice = {
    get standard() {
      return fullName(parts.models.standard);
    },
    fullName: (ref) => parts.models.fullName(ref),
    chosen: (sessionKey) => journal.settings.model(sessionKey),
    choose: (sessionKey, model) => journal.settings.setModel(sessionKey, model),
    forget: (model) => parts.models.learned.forget(model),
    learned: (model) =>
      parts.models.learned.of(model).flatMap((fact) => {
        const text = factText(fact);
        return text === null ? [] : [`${text} (since ${localTime(fact.at, timezone).date})`];
      }),
  };
  const busy: BusyChoice = {
    get standard() {
      return base.config.agent.whenBusy;
    },
    chosen: (sessionKey) => busyModeOf(journal.settings.whenBusy(sessionKey)),
    choose: (sessionKey, mode) => journal.settings.setWhenBusy(sessionKey, mode),
  };
  const { registry } = parts.tools;
  const pairing = createPairing(base, {
    journal,
    ownersOnly: () => [
      ...registry.list().flatMap(({ tool }) => (tool.role === 'owner' ? [tool.name] : [])),
      ...table.ownersOnly().map((name) => `/${name}`),
    ],
  });
  const table: CommandTable = new CommandTable({
    commands: [
      helpCommand({ commands: (role) => table.of(role) }),
      newCommand({ resetSession: parts.resetSession }),
      retryCommand({
        lastTurn: (sessionKey) => journal.turns.last(sessionKey),
        unanswered: (sessionKey) => journal.turns.unanswered(sessionKey, clock.now() - RETRY_MS),
        // Others see their jobs' failures in `/cron`, and a group hears of no job but its own.
        failedJobs: ({ role, chatType, channel, chatId }) =>
          (role === 'owner' && base.config.cron.enabled ? journal.cron.jobs() : [])
            .filter((job) => chatType === 'direct' || isFor(job, { channel, chatId }))
            .filter(({ id, since }) => journal.cron.failures(id, since).count > 0)
            .map(({ id }) => id),
        turnOf: (message, externalId) => journal.turns.ofMessage(message, externalId),
      }),
      statusCommand({ status }),
      agentCommand({ name: base.host?.name ?? null, others: () => base.further.list() }),
      whyCommand({ story: (message) => parts.why.askedIn(message), timezone }),
      usageCommand({
        usage: (since, sessionKey) => journal.usage.since(since, sessionKey),
        today: () => startOfDay(clock.now(), timezone),
      }),
      contextCommand({ prompt: parts.prompt }),
      modelCommand(models),
      busyCommand(busy),
      ...parts.memory,
      tapeCommand(parts.tape),
      undoCommand({
        undo: parts.undo,
        confirm: ({ message, turnId, signal }, question) =>
          parts.questions.approve(
            { sessionKey: message.sessionKey, callId: `${turnId}.1`, turnId, signal, target: message },
            { ...question, reason: 'Nothing is done without your yes.' },
          ),
      }),
      skillsCommand({
        skills: () => parts.catalog.read(),
        found: async () => (await parts.catalog.survey()).found.map(({ name }) => name),
        set: parts.skillRequests.skillsSet,
      }),
      parts.cron,
      ...answerCommands,
      pairCommand({ pairing, timezone }),
      setupCommand,
      restartCommand({
        restart: restart === undefined ? undefined : () => clock.timer(RESTART_DELAY_MS, restart),
        rehearse: () => base.rehearse(),
        locksOut: async (message) =>
          // Its channels stay as they are.
          base.host !== null
            ? null
            : lockedOut(base, { config: (await base.rehearse()).config, message, stores: parts.stores }),
      }),
      startCommand({ tools: (role) => new Set(registry.specs(role).map(({ name }) => name)) }),
    ],
    plugged: () => base.plugins.commands,
    ownerless: (channel) => pairing.ownerless(channel),
    comma: commaCommand({ registry, toolContext: (context) => ownersToolContext(context, base, parts) }),
    skills: async () => {
      const skills = await parts.catalog.read();
      return new Set(skills.filter(({ userInvocable }) => userInvocable).map(({ name }) => name));
    },
  });
  return { table, pairing };
}

const jobChat = z.object({ chat: z.string() });

/** Whether a job sends to this chat. */
function isFor(
  { definition }: { readonly definition: string },
  here: Pick<InboundMessage, 'channel' | 'chatId'>,
): boolean {
  const to = parseChat(jobChat.parse(JSON.parse(definition)).chat);
  return to?.channel === here.channel && to.chatId === here.chatId;
}

/** Why the writer of a message would be no owner with this configuration; null: they would be. */
function lockedOut(
  base: Base,
  {
    config,
    message: { channel, sender, chatType, chatId: chat },
    stores,
  }: { readonly config: Base['config']; readonly message: InboundMessage; readonly stores: Stores },
): string | null {
  const path = base.loaded.path;
  if (!isOwnersChannel(channel) && enabledChannels(config)[channel] === undefined) {
    return `with the configuration as it is now channels.${channel} would stay off, and you could not reach me here. Correct it in ${path}, and send /restart again.`;
  }
  if (roleNow({ config }, stores, { channel, id: sender.id, chatType, chat }, 'owner') === 'owner') return null;
  return `with the configuration as it is now you would no longer be an owner here. Put ${sender.id} into channels.${channel}.owners in ${path}, and send /restart again.`;
}

/** A tool that the owner calls by hand: their own words, nothing of strangers in play. */
async function ownersToolContext(
  { message, turnId, signal }: CommandContext,
  { paths }: Base,
  { questions, stores, skills, editorFiles }: CommandParts,
): Promise<ToolContext> {
  const { sessionKey } = message;
  const callId = `${turnId}.1`;
  const { role, chatType, origin, channel, sender } = message;
  return contextOutsideTurn({
    signal,
    call: { id: callId, turnId, sessionKey, messageId: message.id },
    person: { role, chatType, origin, who: `${channel}:${sender.id}`, chat: null },
    files: {
      workingDirectory: paths.workspace,
      readRoots: [stores.spill.folder(sessionKey), stores.media.folder(sessionKey), ...(await skills.folders())],
      roots: [stores.editors.folderOf(sessionKey)].filter((folder) => folder !== undefined),
      editor: editorFiles.of([sessionKey]),
    },
    withheld: (tool) => withheldFromRun(message, tool),
    approve: (request) => questions.approve({ sessionKey, callId, turnId, signal, target: message }, request),
  });
}
