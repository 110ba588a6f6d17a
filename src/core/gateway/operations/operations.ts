import type { ExtensionOperations } from '../../api.ts';
import { audit, why } from './activity.ts';
import { approvalsForget, approvalsList } from './approvals.ts';
import { editorsAllow, editorsChanges, editorsOpen, editorsReadOnly, editorsServers, editorsShow } from './editors.ts';
import { filesList, filesLog, filesRead, filesRestore, filesVersion, filesWrite } from './files.ts';
import { health, modelsList } from './health.ts';
import { inboxDrop, inboxList, inboxRetry, outboxDrop, outboxList, outboxRetry } from './mail.ts';
import { memoryFacts, memoryForget, memoryLog, memoryRestore, memoryShow } from './memory.ts';
import type { AnswerOf, ParamsOf } from './operation.ts';
import { pairApprove, pairList, pairRemove } from './people.ts';
import { prompt, sessionsDelete, sessionsExport, sessionsList, sessionsRead, sessionsSearch } from './sessions.ts';
import { skillsInstall, skillsList, skillsRemove, skillsSet } from './skills.ts';
import { commands, configReload, info, pageLink, pluginsList } from './system.ts';
import { toolRun, toolsList } from './tools.ts';
import { turnsList, turnsTrace } from './traces.ts';
import { undoTurn } from './undo.ts';
import { usage, usageSeries } from './usage.ts';

/** The core's own, in the order of the docs. Extensions bring more. */
export const OPERATIONS = [
  sessionsList,
  sessionsExport,
  sessionsRead,
  sessionsSearch,
  sessionsDelete,
  prompt,
  memoryLog,
  memoryShow,
  memoryFacts,
  memoryRestore,
  memoryForget,
  filesList,
  filesRead,
  filesWrite,
  filesLog,
  filesVersion,
  filesRestore,
  skillsList,
  skillsSet,
  skillsInstall,
  skillsRemove,
  pairList,
  pairApprove,
  pairRemove,
  approvalsList,
  approvalsForget,
  outboxList,
  outboxRetry,
  outboxDrop,
  inboxList,
  inboxRetry,
  inboxDrop,
  health,
  modelsList,
  usageSeries,
  usage,
  why,
  audit,
  turnsList,
  turnsTrace,
  undoTurn,
  editorsOpen,
  editorsAllow,
  editorsReadOnly,
  editorsShow,
  editorsServers,
  editorsChanges,
  toolsList,
  toolRun,
  pluginsList,
  pageLink,
  info,
  commands,
  configReload,
] as const;

type Core = (typeof OPERATIONS)[number];
/** Those of the core by name. */
export type CoreOperations = { readonly [Op in Core as Op['name']]: Op };
/** Every operation by its name. */
export type Operations = CoreOperations & ExtensionOperations;

export type RequestName = keyof Operations;
export type RequestParams<Name extends RequestName> = ParamsOf<Operations[Name]>;
export type RequestResult<Name extends RequestName> = AnswerOf<Operations[Name]>;
