/** For conversations in a terminal: the assistant as programs reach it, and text in colours and columns. */
export { inlineSpans } from './channels/markup/inline.ts';
export { attribute, LONGEST_MARKDOWN, parseMarkdown } from './channels/markup/parser.ts';
export { characters, paint, rowWidth, textWidth, wrapAnywhere, wrapWords } from './channels/markup/terminal-text.ts';
export type { Piece, TerminalLook, Tone } from './channels/markup/terminal-text.ts';
export { json as jsonText, seconds } from './cli/format.ts';
export { isDumb, lookOf, wrapped } from './cli/look.ts';
export { NotSentError, ReconnectingAssistant } from '../cli/reconnect.ts';
export type { ConnectionWatcher } from '../cli/reconnect.ts';
export type { Conversation } from './extension.ts';
export type {
  ApprovalQuestion,
  ApprovalReply,
  AssistantPort,
  AttachedMessage,
  OutboundEvent,
  SendInput,
  TurnSummary,
} from './gateway/assistant-port.ts';
export { createRedactor } from './security/redact/redact.ts';
export { LineHistory } from './storage/line-history.ts';
