/**
 * The types of the package: all that its public signatures mention, by name. `test/start/library-types.test.ts` says which
 * one is missing.
 */

// Running an assistant.
export type { Assistant, AssistantSettings, Given, ReloadReport } from './assistant.ts';
export type { RunErrorKind, RunEvent, RunOptions, RunResult, Runs, RunStream, RunToolCall, SentFile } from './run.ts';
export type { SessionEvent } from '../session/session-log.ts';
export type { Environment } from '../config/environment.ts';
export type { HomePaths } from '../config/home.ts';
export type { Effect as SettingEffect } from '../config/schema/values.ts';
export type { EditorFileReply, EditorFileRequest, EditorServer, LentFiles } from '../bus/editor.ts';
export type { AgentFacts, HomeOnGateway, AssistantInfo, StoreFacts } from '../gateway/assistant-info.ts';
export type {
  ApprovalQuestion,
  ApprovalReply,
  AssistantPort,
  AttachedMessage,
  CallOptions,
  Conversation,
  ConversationOptions,
  SendInput,
} from '../gateway/assistant-port.ts';
export type { Operation } from '../gateway/operations/operation.ts';
export type { Operations, RequestName, RequestParams, RequestResult } from '../gateway/operations/operations.ts';
export type { SessionInfo } from '../session/reader.ts';
export type { MoveHome } from '../../host/homes/move-home.ts';
export type { Compared } from '../../host/homes/compare-home.ts';
export type { Moved } from '../../host/homes/move.ts';
export type { Vacuumed } from '../storage/vacuum.ts';
export type { Clock } from '../util/clock.ts';
export type { Logger } from '../util/log.ts';
export type { Usage } from '../util/token-usage.ts';

// Messages and events.
export type {
  AcceptResult,
  Button,
  ContextMessage,
  Cursor,
  InboundDraft,
  InboundMessage,
  LiveBase,
  Media,
  OutboundEvent,
  OutboundMessage,
  PairedRole,
  ReplyReference,
  Role,
  Sender,
  TurnOutcome,
  TurnSummary,
} from '../bus/messages.ts';

// Plugins.
export type {
  ChannelKit,
  HtmlKit,
  CommandCall,
  Plugin,
  PluginChannel,
  PluginCommand,
  PluginProvider,
  PluginRoute,
  Speaker,
} from '../plugins/plugin.ts';
export type { TapeStore } from '../session/stored-tapes.ts';

// Tools.
export type { LastingTarget, TaintAction, TaintBits } from '../security/access/taint.ts';
export type { SaidText } from '../security/access/url-origin.ts';
export type {
  ActiveSkills,
  ApprovalAnswer,
  ApprovalRequest,
  AskAnswer,
  AskedQuestion,
  CallApproval,
  CallConversation,
  CallFiles,
  CallIds,
  CallLimits,
  CallPeople,
  CallPerson,
  ChatAddress,
  DeclaredAction,
  Denied,
  Effect,
  EffectClass,
  EffectTarget,
  Executed,
  Plan,
  Planned,
  RunPart,
  Taint,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolTraits,
  ToolMetadata,
  ToolResult,
} from '../tools/tool.ts';

export type { Inside, Parent } from '../security/paths/open-inside.ts';
export type { Pinned } from '../security/paths/pinned.ts';
export type { SectionForms } from '../config/schema.ts';
export type { FileContent, FileStore, ReplacedFile, StoredChange, WrittenFile } from '../files/access.ts';

// Providers.
export type {
  AssistantPart,
  ImagePart,
  ModelError,
  ModelErrorKind,
  ModelEvent,
  ModelMessage,
  ModelName,
  ModelRequest,
  ModelResponse,
  ModelRestart,
  ModelToolCall,
  Provider,
  ReasoningPart,
  SentRequest,
  StopReason,
  StoredImage,
  ToolCallPart,
  ToolChoice,
  ToolSpec,
  UserPart,
} from '../providers/provider.ts';

// Hooks.
export type {
  CallModel,
  Decision,
  HookAnswer,
  HookedCall,
  Hooks,
  HookSet,
  TurnFacts,
  TurnFailure,
  TurnState,
} from '../agent/hooks/hooks.ts';

// Channels.
export type {
  Channel,
  ChannelCapabilities,
  ChannelContext,
  ChannelError,
  ChannelHealth,
  ChannelState,
  MenuCommand,
  OutgoingPart,
  ReactionChange,
  ReactionTarget,
  Resend,
  SendError,
  SendFailure,
  Stranger,
} from '../channels/channel.ts';
export type { Permit } from '../util/permit.ts';
export type { MessageState, ReactionDraft, StateReactions } from '../bus/reactions.ts';
export type { Received, ReadUpTo, WriteOptions } from '../channels/inbound/writer.ts';
export type { PassedOver } from '../journal/channel-log.ts';
