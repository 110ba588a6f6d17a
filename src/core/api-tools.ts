/** For tools: their contract, and files and addresses as tools reach them. */
export type { FetchResult } from './security/fetch/contract.ts';
export type { GuardedFetch } from './security/fetch/fetch.ts';
export { isSaidByOthers, urlOrigin, type SaidText } from './security/access/url-origin.ts';
export { createReader } from './tools/reading/reader.ts';
export type { ReadApart, ReadRequest } from './tools/reading/reader.ts';
export { escapeControlChars } from './security/text/control-characters.ts';
export {
  askToChange,
  askToRead,
  callerOf,
  fileTarget,
  freeText,
  openAllowed,
  planInside,
  putFile,
  readOpened,
  readReplaced,
  readWhole,
  requireReadable,
  writeThrough,
} from './files/access.ts';
export type { FileAccess, FileContent, ReplacedFile } from './files/access.ts';
export { bitsOf, NAMES_SOURCE, TEXT_SOURCE } from './files/marks.ts';
export type { Marks, ResultBits } from './files/marks.ts';
export { previewOf } from './files/preview.ts';
export { sha256 } from './storage/change-log.ts';
export { imageType } from './files/text.ts';
export { callDetail } from './tools/registry/decide.ts';
export { errorResult, failureLine } from './tools/registry/result.ts';
export { defineTool, showsInGroup } from './tools/tool.ts';
export type {
  ApprovalRequest,
  DeclaredAction,
  EffectTarget,
  Executed,
  Plan,
  Planned,
  Tool,
  ToolContext,
  ToolMetadata,
  ToolResult,
} from './tools/tool.ts';
export { choiceAction, fetchAction, siteOf, withScheme } from './security/access/fetch-action.ts';
export { PAGE_MARGIN } from './tools/registry/result.ts';
export type { RecordedJob } from './storage/change-log.ts';
export type { CallIds, CallPerson } from './tools/tool.ts';
export type { ChatCommand } from './agent/commands/command.ts';
export { localRole, webhookSender } from './security/access/access.ts';
export { hasChannel } from './config/channels.ts';
export { firstJoined } from './util/first-joined.ts';
