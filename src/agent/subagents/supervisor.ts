import type { MessageBus } from '../../bus/bus.ts';
import type { InboundMessage } from '../../bus/messages.ts';
import type { Inbox } from '../../journal/inbox.ts';
import type { Subagents, TaskState } from '../../journal/subagents.ts';
import type { Sessions } from '../../session/sessions.ts';
import { errorResult } from '../../tools/registry/result.ts';
import type { Spawner, SpawnRequest } from '../../tools/spawn.ts';
import type { ToolContext, ToolResult } from '../../tools/tool.ts';
import { raceAbort, type Clock } from '../../util/clock.ts';
import { errorMessage } from '../../util/errors.ts';
import { plural } from '../../util/text.ts';
import { EndTurn } from '../turn/end.ts';
import { outcomeOf, type SubagentOutcome } from './outcome.ts';
import { depthOf, subagentOf, taskMessage, type SubagentTask } from './task.ts';

export interface SubagentSupervisorPorts {
  readonly subagents: Subagents;
  readonly inbox: Pick<Inbox, 'byId'>;
  readonly sessions: Sessions;
  readonly bus: Pick<MessageBus, 'listen'>;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Most subagents that run at the same time (`agent.maxSubagents`). */
  readonly most: number;
  readonly maxIterations: number;
  /** Throws an error with one sentence if a model cannot be called. */
  readonly checkModel: (ref: string) => void;
  /** Aborts a running turn. */
  readonly stopTurn: (turnId: string) => void;
}

/** Longest chain of subagents whose results led to the next one; then a person has to write first. */
const DEEPEST = 5;
/** A waiting call reads the state of its task this often, ms, in case it missed the event. */
const POLL_MS = 2_000;

/** Creates the port of the `spawn` tool: queues tasks for subagents and waits for their results. */
export function createSubagentSupervisor(ports: SubagentSupervisorPorts): Spawner {
  const { subagents, inbox, clock, newId, most } = ports;
  return {
    spawn: async (request, context) => {
      const [asked] = inbox.byId([context.call.messageId]);
      if (asked === undefined) return errorResult('spawn', 'There is no conversation here that a result could go to.');
      const problem = problemOf(request, asked, ports);
      if (problem !== null) return errorResult('spawn', problem);
      const task = taskOf(request, context, asked);
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
      const accepted = await subagents.accept(message, most);
      if (accepted === 'full') {
        const running = plural(most, 'subagent');
        return errorResult('spawn', `${running} run already (agent.maxSubagents): wait until one is done.`);
      }
      if (task.wait) return await waited(message, task, { ports, context });
      const output =
        'The subagent works in the background. Its result comes in a later turn, as a message whose <context> names the subagent; go on with other work, or end your turn.';
      return { title: `subagent "${task.label}"`, output, metadata: { session: message.sessionKey } };
    },
  };
}

function problemOf(
  request: SpawnRequest,
  asked: InboundMessage,
  { checkModel }: SubagentSupervisorPorts,
): string | null {
  if (depthOf(asked) >= DEEPEST) {
    return `subagents led to one another ${DEEPEST} times since a person last spoke: say what is left to do instead.`;
  }
  try {
    if (request.model !== null) checkModel(request.model);
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}

function taskOf(
  request: SpawnRequest,
  { call, person }: Pick<ToolContext, 'call' | 'person'>,
  asked: InboundMessage,
): SubagentTask {
  const { origin } = person;
  const selfStarted = origin === 'cron' || origin === 'heartbeat';
  return {
    label: request.label,
    callId: call.id,
    session: call.sessionKey,
    turn: call.turnId,
    origin,
    since: asked.receivedAt,
    // No person is there to read a later message.
    wait: request.wait || selfStarted,
    inherit: request.session === 'inherit',
    tools: request.tools === null ? null : [...request.tools],
    depth: depthOf(asked) + 1,
  };
}

async function waited(
  message: InboundMessage,
  task: SubagentTask,
  { ports, context }: { readonly ports: SubagentSupervisorPorts; readonly context: ToolContext },
): Promise<ToolResult> {
  const { signal } = context;
  let state: TaskState | undefined;
  try {
    context.people.progress(`waits for the subagent "${task.label}"`);
    state = await untilEnded(message, ports, signal);
  } catch (error) {
    // Here the turn reached its end by itself. After /stop the subagent has ended already; after a restart it is
    // resumed.
    if (signal.reason instanceof EndTurn) {
      const turnId = await ports.subagents.end(message);
      if (turnId !== null) ports.stopTurn(turnId);
    }
    throw error;
  }
  const outcome = state === undefined ? null : await read(state, ports);
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
  { subagents, bus, clock }: SubagentSupervisorPorts,
  signal: AbortSignal,
): Promise<TaskState | undefined> {
  for (;;) {
    signal.throwIfAborted();
    const woken = Promise.withResolvers<void>();
    using _listening = bus.listen((event) => {
      if (event.type === 'turn-end' && event.answers.includes(message.externalId)) woken.resolve();
    });
    const state = subagents.taskState(message);
    if (state?.state !== 'accepted' && state?.state !== 'running') return state;
    using _timer = clock.timer(POLL_MS, woken.resolve);
    await raceAbort(woken.promise, signal);
  }
}

async function read(
  { message, turnId }: TaskState,
  { sessions, maxIterations }: SubagentSupervisorPorts,
): Promise<SubagentOutcome | null> {
  if (turnId === null) return null;
  const session = await sessions.open(message.sessionKey, { turn: turnId });
  const end = session.turn(turnId).findLast((entry) => entry.kind === 'turn-end');
  return end === undefined ? null : outcomeOf(session, end, maxIterations);
}

/** One line for each subagent that waits or runs; `session`: only those it spawned, null: all. */
export function subagentLines(
  subagents: Pick<Subagents, 'open'>,
  { session, now }: { readonly session: string | null; readonly now: number },
): readonly string[] {
  return subagents.open().flatMap(({ message, state }) => {
    const task = subagentOf(message);
    if (task === null || (session !== null && task.session !== session)) return [];
    const minutes = Math.floor((now - message.receivedAt) / 60_000);
    return [`"${task.label}" (${state}, ${minutes} min)`];
  });
}
