import { listedFacts } from './listed-facts.ts';
import type { ChatCommand } from '../../agent/commands/command.ts';
import type { Budget } from '../../agent/context/budget.ts';
import type { PromptReport } from '../../agent/commands/context.ts';
import { mentionsText } from '../../agent/commands/memory.ts';
import type { Undo } from '../../agent/undo/undo.ts';
import type { PairingPort } from '../../agent/commands/pair.ts';
import type { RequestHandlers } from '../../gateway/operations/operations.ts';
import type { HealthFacts } from '../../gateway/operations/health.ts';
import type { HttpSlot } from '../../gateway/operations/ports.ts';
import type { Journal } from '../../journal/journal.ts';
import type { MemoryStore } from '../../memory/files/store.ts';
import type { AuditLog } from '../../storage/audit-log.ts';
import { assistantCommand } from '../../util/assistant-command.ts';
import { AppError } from '../../util/errors.ts';
import type { Models } from '../agent/models.ts';
import type { Why } from '../agent/why.ts';
import type { Base } from '../base.ts';
import type { Automation } from '../automation/automation.ts';
import type { EditorMcp } from '../tools/editor-servers.ts';
import type { Mcp } from '../tools/mcp.ts';
import type { Plugins } from '../extensions/plugins.ts';
import type { Reloader } from '../reload.ts';
import { editorRequests } from './editor-requests.ts';
import { fileRequests } from './file-requests.ts';
import { mailRequests } from './mail-requests.ts';
import { modelRequests } from './model-requests.ts';
import { whyAnswer } from './own-steps.ts';
import { sessionRequests } from './session-requests.ts';
import { forgetThen, lookFor } from '../storage/forgetting.ts';
import type { KeptFiles } from '../storage/kept-files.ts';
import type { Stores } from '../storage/stores.ts';
import type { SkillRequests } from './skill-requests.ts';
import { turnRequests } from './turn-trace.ts';
import { undoRequests } from './undo-requests.ts';
import { usageRequests } from './usage-requests.ts';

export interface RequestParts {
  readonly prompt: (sessionKey: string) => Promise<PromptReport>;
  readonly commands: () => readonly Pick<ChatCommand, 'name' | 'description'>[];
  readonly memory: MemoryStore;
  readonly files: KeptFiles;
  readonly pairing: PairingPort;
  readonly journal: Journal;
  readonly search: Stores['search'];
  readonly sessions: Stores['sessions'];
  readonly media: Stores['media'];
  readonly promptParts: Stores['promptParts'];
  readonly changes: Stores['changes'];
  readonly audit: Pick<AuditLog, 'newest'>;
  readonly editors: Stores['editors'];
  /** Ends the browser of a session and removes its profile. */
  readonly forgetBrowser: (sessionKey: string) => Promise<void>;
  readonly cron: Automation['request'];
  readonly mcp: Pick<Mcp, 'list' | 'test' | 'trust'>;
  readonly editorMcp: Pick<EditorMcp, 'started'>;
  readonly plugins: Pick<Plugins, 'look'>;
  readonly skillRequests: SkillRequests;
  readonly budget: Budget;
  readonly undo: Undo;
  readonly why: Why;
  /** What the heartbeat does now, in a few words; null: it does not run. */
  readonly heartbeat: () => string | null;
  /** The person's time zone. */
  readonly zone: () => string;
  readonly models: Models;
  readonly health: () => Promise<HealthFacts>;
  readonly reload: Reloader['reload'];
  /** Ends this process and starts another; undefined: nothing would. */
  readonly restart: (() => void) | undefined;
  /** What HTTP lends, once it is served. */
  readonly http: HttpSlot;
}

/** The operations, without those that only the process as a whole can answer. */
export type AgentRequests = Omit<RequestHandlers, 'info' | 'pageLink'>;

/** Answers the operations with the modules. */
export function createRequests(base: Base, parts: RequestParts): AgentRequests {
  const { cron, prompt, commands, memory, pairing, journal, search, sessions, audit, mcp, plugins, reload } = parts;
  return {
    prompt: async ({ session }) => {
      const { layers, tokens, tools, messageCount, model } = await prompt(session);
      return {
        session,
        model,
        layers: layers.map(({ name, text }, index) => ({ name, text, tokens: tokens.layers[index] ?? 0 })),
        tools: { count: tools.length, tokens: tokens.tools, specs: tools },
        conversation: { messages: messageCount, tokens: tokens.history },
        used: tokens.used,
        window: tokens.window,
      };
    },
    commands: async () => commands().map(({ name, description }) => ({ name, description })),
    memoryLog: () => memory.log(),
    memoryShow: ({ id }) => memory.show(id),
    memoryFacts: ({ past = false }) => listedFacts(memory, { past, timezone: base.config.agent.timezone }),
    memoryRestore: ({ id }) => memory.restore(id),
    memoryForget: async ({ words, erase = false }) => {
      const found = await lookFor(words, base);
      const state = erase ? await forgetThen(parts.restart, base, { words, asked: null }) : 'found';
      return { ...found, shown: mentionsText(found), state };
    },
    cron,
    pairList: async () => pairing.list(),
    pairApprove: ({ code, role = 'trusted' }, { door }) =>
      pairing.approve(code, { by: door.split(':')[0] ?? door, role }),
    pairRemove: ({ person }) => pairing.remove(person),
    approvalsList: async () => ({
      remembered: journal.allowances.list(),
      waiting: journal.questions
        .waiting('approval')
        .map(({ code, session, deadline, request: { title, detail, reason } }) => ({
          code,
          session,
          title,
          detail,
          reason,
          deadline,
        })),
    }),
    approvalsForget: async ({ id }) => {
      const forgotten = await journal.allowances.forget(id);
      if (forgotten !== undefined) return forgotten;
      const given = JSON.stringify(id.slice(0, 40));
      throw new AppError(
        'approval-unknown',
        `There is no permission with the id ${given}. To list them, run: ${assistantCommand('approvals')}`,
      );
    },
    mcpList: async () => mcp.list(),
    mcpTest: ({ name }) => mcp.test(name),
    mcpTrust: ({ name, hash }) => mcp.trust(name, hash),
    pluginsList: () => plugins.look(),
    configReload: () => reload(),
    ...mailRequests(journal.deadLetters),
    ...fileRequests({ files: parts.files, memory, search, redact: base.redact }),
    ...sessionRequests(
      { journal, search, sessions, editors: parts.editors, forgetBrowser: parts.forgetBrowser },
      { folder: base.paths.sessions, clock: base.clock, timezone: base.config.agent.timezone },
    ),
    ...turnRequests(journal, base.paths.sessions, {
      changes: parts.changes,
      workspace: base.paths.workspace,
      redact: base.redact,
      save: async (record) => {
        const { saveTurn } = await import('../traces/save-turn.ts');
        return saveTurn(record, base, { media: parts.media, promptParts: parts.promptParts, body: parts.models.body });
      },
    }),
    ...undoRequests(parts.undo, journal),
    ...editorRequests(parts.editors, { changes: parts.changes, mcp: parts.editorMcp, redact: base.redact }),
    ...parts.skillRequests,
    ...usageRequests(base, { usage: journal.usage, budget: parts.budget }),
    ...modelRequests(base, { models: parts.models, journal }),
    health: () => parts.health(),
    why: (asked) =>
      whyAnswer(asked, {
        journal,
        why: parts.why,
        clock: base.clock,
        zone: parts.zone,
        heartbeat: () => (base.config.heartbeat.enabled ? (parts.heartbeat() ?? 'it does not run here') : null),
      }),
    audit: ({ count, asked, about }) => {
      const part = about.toLowerCase();
      return audit.newest(
        count,
        ({ decision, what, session, who, turn }) =>
          !(asked && decision === 'allowed') &&
          [what, session, who, turn].some((text) => text?.toLowerCase().includes(part) === true),
      );
    },
  };
}
