/** For what begins turns by itself, and asks models outside of turns. */
export { outboundTo } from './agent/outgoing.ts';
export { cleanModel } from './agent/side-calls/clean-model.ts';
export { SideCalls } from './agent/side-calls/side-calls.ts';
export type { SideCall } from './agent/side-calls/side-calls.ts';
export { askStructured } from './agent/side-calls/structured.ts';
export type { StructuredAnswer, StructuredQuestion } from './agent/side-calls/structured.ts';
// Tasks that a turn gives to subagents.
export { outcomeOf } from './agent/subagents/outcome.ts';
export type { SubagentOutcome } from './agent/subagents/outcome.ts';
export { depthOf, subagentOf, taskMessage } from './agent/subagents/task.ts';
export type { SubagentTask } from './agent/subagents/task.ts';
export { EndTurn } from './agent/turn/end.ts';
export { ANSWER_TTL } from './bus/messages.ts';
