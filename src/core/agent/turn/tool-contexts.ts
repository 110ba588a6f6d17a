import type { App } from '../../app.ts';
import type { SaidText } from '../../security/access/url-origin.ts';
import type { ApprovalAnswer, ApprovalRequest, ToolContext, ToolFacts } from '../../tools/tool.ts';
import { chatOf } from '../outgoing.ts';
import { subagentOf } from '../subagents/task.ts';
import { withheld } from '../withheld-tools.ts';
import type { Turn } from './current-turn.ts';
import { JoinedQuestions } from './joined-questions.ts';
import { hasWeakerAuthors, saidTexts } from './provenance.ts';
import { renderer } from './shown-text.ts';

/** Makes the contexts of the tool calls of one step: call id → `ToolContext`. */
export async function toolContexts(turn: Turn, app: App): Promise<(callId: string) => ToolContext> {
  const { turnSkills, spill, media, editors, editorFiles, questions } = app;
  const { session, facts, live } = turn;
  const target = facts.messages.at(-1);
  const history = session.history();
  const [skills, folders] = await Promise.all([turnSkills.active(session.turn(facts.turnId)), turnSkills.folders()]);
  const hasWeaker = hasWeakerAuthors(history.authors, turn.role);
  const source =
    history.source ?? (skills.foreign ? 'a skill by another author' : hasWeaker ? 'somebody with a lower role' : null);
  const taint = {
    untrusted: history.untrusted || skills.foreign || hasWeaker,
    private: history.private,
    ...(source === null ? {} : { source }),
  };
  const factsOf = (tool: string): ToolFacts => app.tools.named(tool, facts.sessionKey) ?? { name: tool };
  const task = subagentOf(target);
  // A subagent may also read the kept files of the session that started it.
  const readers = [facts.sessionKey, ...(task === null ? [] : [task.session])];
  const ownFolders = readers.flatMap((key) => [spill.folder(key), media.folder(key)]);
  const common = {
    signal: turn.signal,
    person: {
      role: turn.role,
      origin: target?.origin ?? 'system',
      who: target === undefined ? null : `${target.channel}:${target.sender.id}`,
      chatType: target?.chatType ?? null,
      chat: target === undefined ? null : chatOf(target),
    },
    files: {
      workingDirectory: app.paths.workspace,
      readRoots: [...ownFolders, ...folders],
      roots: readers.map((key) => editors.folderOf(key)).filter((folder) => folder !== undefined),
      store: editorFiles.of(readers),
    },
    limits: { skills, withheld: (tool: string) => withheld(target, factsOf(tool)) },
    approval: null,
    runPart: null,
  } as const;
  const { turnId, sessionKey } = facts;
  // A subagent has the chat of the session that started it.
  const chat = target === undefined ? sessionKey : `${target.channel}:${target.chatId}`;
  let said: readonly SaidText[] | undefined;
  const render = renderer(facts, app) ?? (async (text: string) => text);
  const asks = { turnId, signal: turn.signal, target, untrusted: taint.untrusted };
  const approve = async (callId: string, request: ApprovalRequest): Promise<ApprovalAnswer> => {
    using _paused = turn.pauseDeadline();
    // After a restart the question is found by the id of its call, so the call must be durable before it is asked.
    await session.append([], 'durable');
    // Each question has a row of its own.
    const id = request.part === undefined ? callId : `${callId}.q${request.part}`;
    const asking = { ...asks, callId: id, sessionKey: task?.session ?? sessionKey };
    return await questions.approve(asking, request);
  };
  const joined = new JoinedQuestions(approve, { clock: app.clock, signal: turn.signal });
  return (callId) => {
    return {
      ...common,
      call: { id: callId, turnId, sessionKey, messageId: target?.id ?? '' },
      conversation: {
        taint,
        said: () => (said ??= saidTexts(session, turn.role)),
        takeFreeChoice: () => app.journal.freeChoices.take(callId, chat),
      },
      people: {
        approve: (request) => joined.approve(callId, request),
        rendered: render,
        ask: async (question) => {
          const text = await render(question.text);
          if (text.trim() === '') return { answered: false, reason: 'a plugin refuses this question' };
          const choices = (await Promise.all(question.choices.map(render))).filter((choice) => choice.trim() !== '');
          using _paused = turn.pauseDeadline();
          await session.append([], 'durable');
          return await questions.ask({ ...asks, callId, sessionKey }, { text, choices });
        },
        progress: (text) => live({ type: 'status', text }),
      },
    };
  };
}
