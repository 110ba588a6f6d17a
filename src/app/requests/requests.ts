import { mentionsText } from '../../core/agent/commands/memory.ts';
import type { App } from '../../core/app.ts';
import type { RequestHandlers } from '../../core/gateway/operations/operations.ts';
import { assistantCommand } from '../../core/util/assistant-command.ts';
import { AppError } from '../../core/util/errors.ts';
import { editorRequests } from './editor-requests.ts';
import { fileRequests } from './file-requests.ts';
import { listedFacts } from './listed-facts.ts';
import { mailRequests } from './mail-requests.ts';
import { modelRequests } from './model-requests.ts';
import { whyAnswer } from './own-steps.ts';
import { sessionRequests } from './session-requests.ts';
import { skillRequests, type SkillRequests } from './skill-requests.ts';
import { turnRequests } from './turn-trace.ts';
import { undoRequests } from './undo-requests.ts';
import { usageRequests } from './usage-requests.ts';

/** The operations, without those that only the process as a whole can answer. */
export type AgentRequests = Omit<RequestHandlers, 'info' | 'pageLink'> & SkillRequests;

/** Answers the operations with the modules. */
export function createRequests(app: App): AgentRequests {
  const { memory, pairing, journal, audit } = app;
  return {
    prompt: async ({ session }) => {
      const { layers, tokens, tools, messageCount, model } = await app.prompts.report(session);
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
    commands: async () => app.commands.of('owner').map(({ name, description }) => ({ name, description })),
    memoryLog: () => memory.log(),
    memoryShow: ({ id }) => memory.show(id),
    memoryFacts: ({ past = false }) => listedFacts(memory, { past, timezone: app.config.agent.timezone }),
    memoryRestore: ({ id }) => memory.restore(id),
    memoryForget: async ({ words, erase = false }) => {
      const found = await app.forgetting.lookFor(words);
      const state = erase ? await app.forgetting.forget(words, null) : 'found';
      return { ...found, shown: mentionsText(found), state };
    },
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
    pluginsList: () => app.plugins.look(),
    configReload: () => app.reload(),
    ...mailRequests(journal.deadLetters),
    ...fileRequests(app),
    ...sessionRequests(app),
    ...turnRequests(app),
    ...undoRequests(app),
    ...editorRequests(app),
    ...skillRequests(app),
    ...usageRequests(app),
    ...modelRequests(app),
    health: () => app.health(),
    why: (asked) => whyAnswer(asked, app),
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
