import { errorMessage, plural, raceAbort, type App, type InboundMessage } from '../../core/api.ts';
import { errorResult, type ToolContext, type ToolResult } from '../../core/api-tools.ts';
import {
  depthOf,
  EndTurn,
  outcomeOf,
  taskMessage,
  type SubagentOutcome,
  type SubagentTask,
} from '../../core/api-turns.ts';
import { maxSubagents } from './settings.ts';

/** A task as a turn gives it. */
interface SpawnRequest {
  readonly task: string;
  readonly label: string;
  readonly wait: boolean;
  /** `temp`, `inherit`, or the name of a colleague. */
  readonly session: string;
  readonly tools: readonly string[] | null;
  readonly model: string | null;
}

type TaskState = NonNullable<ReturnType<App['journal']['subagents']['taskState']>>;

/** Longest chain of subagents whose results led to the next one; then a person has to write first. */
const DEEPEST = 5;
/** A waiting call reads the state of its task this often, ms, in case it missed the event. */
const POLL_MS = 2_000;

/** Begins a task, or finds the one that this call began before; with `wait` resolves at its end. */
export async function spawn(request: SpawnRequest, context: ToolContext, app: App): Promise<ToolResult> {
  const { clock, newId, journal } = app;
  const [asked] = journal.inbox.byId([context.call.messageId]);
  if (asked === undefined) return errorResult('spawn', 'There is no conversation here that a result could go to.');
  const problem = problemOf(request, asked, app);
  if (problem !== null) return errorResult('spawn', problem);
  const task = taskOf(request, context, asked, app);
  const message = taskMessage(asked, {
    id: newId(),
    now: clock.now(),
    role: context.person.role,
    task,
    name: request.session === 'temp' || request.session === 'inherit' ? null : request.session,
    text: request.task,
    model: request.model,
    taint: context.conversation.taint,
  });
  const most = app.settingsOf(maxSubagents);
  const accepted = await journal.subagents.accept(message, most);
  if (accepted === 'full') {
    const running = plural(most, 'subagent');
    return errorResult('spawn', `${running} run already (agent.maxSubagents): wait until one is done.`);
  }
  if (task.wait) return await waited(message, task, { app, context });
  const output =
    'The subagent works in the background. Its result comes in a later turn, as a message whose <context> names the subagent; go on with other work, or end your turn.';
  return { title: `subagent "${task.label}"`, output, metadata: { session: message.sessionKey } };
}

function problemOf(request: SpawnRequest, asked: InboundMessage, { models }: App): string | null {
  if (depthOf(asked) >= DEEPEST) {
    return `subagents led to one another ${DEEPEST} times since a person last spoke: say what is left to do instead.`;
  }
  try {
    if (request.model !== null) models.fullName(request.model);
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

function taskOf(
  request: SpawnRequest,
  { call, person: { origin } }: Pick<ToolContext, 'call' | 'person'>,
  asked: InboundMessage,
  { program: { origins } }: App,
): SubagentTask {
  return {
    label: request.label,
    callId: call.id,
    session: call.sessionKey,
    turn: call.turnId,
    origin,
    since: asked.receivedAt,
    // No person is there to read a later message.
    wait: request.wait || origins.of(origin).isAsked !== true,
    inherit: request.session === 'inherit',
    tools: request.tools === null ? null : [...request.tools],
    depth: depthOf(asked) + 1,
  };
}

async function waited(
  message: InboundMessage,
  task: SubagentTask,
  { app, context }: { readonly app: App; readonly context: ToolContext },
): Promise<ToolResult> {
  const { signal } = context;
  let state: TaskState | undefined;
  try {
    context.people.progress(`waits for the subagent "${task.label}"`);
    state = await untilEnded(message, app, signal);
  } catch (error) {
    // Here the turn reached its end by itself. After /stop the subagent has ended already; after a restart it is
    // resumed.
    if (signal.reason instanceof EndTurn) {
      const turnId = await app.journal.subagents.end(message);
      if (turnId !== null) app.turns.stop(turnId);
    }
    throw error;
  }
  const outcome = state === undefined ? null : await read(state, app);
  const title = `subagent "${task.label}"`;
  if (outcome === null) return errorResult(title, 'The subagent failed: its task was given up, or never began.');
  return {
    title: `${title} ${outcome.status}`,
    output: outcome.text,
    metadata: { status: outcome.status, session: message.sessionKey },
    ...(outcome.status === 'completed' ? {} : { isError: true }),
    ...(outcome.untrusted ? { untrusted: true } : {}),
    ...(outcome.private ? { private: true } : {}),
  };
}

async function untilEnded(
  message: InboundMessage,
  { journal, bus, clock }: App,
  signal: AbortSignal,
): Promise<TaskState | undefined> {
  for (;;) {
    signal.throwIfAborted();
    const woken = Promise.withResolvers<void>();
    using _listening = bus.listen((event) => {
      if (event.type === 'turn-end' && event.answers.includes(message.externalId)) woken.resolve();
    });
    const state = journal.subagents.taskState(message);
    if (state?.state !== 'accepted' && state?.state !== 'running') return state;
    using _timer = clock.timer(POLL_MS, woken.resolve);
    await raceAbort(woken.promise, signal);
  }
}

async function read({ message, turnId }: TaskState, { sessions, config }: App): Promise<SubagentOutcome | null> {
  if (turnId === null) return null;
  const session = await sessions.open(message.sessionKey, { turn: turnId });
  const end = session.turn(turnId).findLast((entry) => entry.kind === 'turn-end');
  return end === undefined ? null : outcomeOf(session, end, config.agent.maxIterations);
}
