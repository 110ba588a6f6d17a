/** For tools: their contract, and files and addresses as tools reach them. */
export type { GuardedFetch } from './security/fetch/fetch.ts';
export { escapeControlChars } from './security/text/control-characters.ts';
export { callerOf, openAllowed, readWhole, writeThrough } from './tools/files/access.ts';
export type { FileAccess } from './tools/files/access.ts';
export { imageType } from './tools/files/file-text.ts';
export type { KeepWhole } from './tools/registry/registry.ts';
export { errorResult } from './tools/registry/result.ts';
export { defineTool, showsInGroup } from './tools/tool.ts';
export type {
  ApprovalRequest,
  DeclaredAction,
  Denied,
  EffectTarget,
  Executed,
  Plan,
  Planned,
  Tool,
  ToolContext,
  ToolResult,
} from './tools/tool.ts';
export { fetchAction, siteOf, withScheme } from './tools/web/fetch-action.ts';
export { PAGE_MARGIN } from './tools/registry/result.ts';
export type { RecordedJob } from './storage/change-log.ts';
export type { CallIds, CallPerson } from './tools/tool.ts';
export type { ChatCommand } from './agent/commands/command.ts';
export { localRole, webhookSender } from './security/access/access.ts';
export { hasChannel } from './config/channels.ts';
export { firstJoined } from './util/first-joined.ts';
