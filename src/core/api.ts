/**
 * What extensions are written with: the only file of the core that they import, and what packages get as `assistantd`. It
 * loads nothing that a start does not load anyway; what is heavier is reached through a service of `App`, or by a further
 * entry in `core/api-*.ts`.
 */

export { z } from 'zod';
export { defineExtension, defineExtension as definePlugin } from './extension.ts';
export type { Contributions, Extension } from './extension.ts';
export type { App } from './app.ts';

// Settings.
export { section } from './config/schema.ts';
export type { Section } from './config/schema.ts';
export { count, flag, optionalText, takes } from './config/schema/values.ts';
export { channelSecret, channelServer } from './config/schema/channels.ts';

/**
 * The operations of extensions by name, so that `assistant.call('cron', …)` is typed for everyone. Each adds its own:
 * `declare module '../../core/api.ts' { interface ExtensionOperations { cron: typeof cronOperation } }`.
 */
// oxlint-disable-next-line typescript/no-empty-interface
export interface ExtensionOperations {}

// Operations.
export { operation } from './gateway/operations/operation.ts';
export type { AnswerOf, Caller, Operation, ParamsOf } from './gateway/operations/operation.ts';

// Messages.
export { API_CHANNEL } from './bus/api.ts';
export { parseChat, sessionKeyOf } from './bus/messages.ts';
export type { AcceptResult, Button, InboundDraft, InboundMessage, OutboundMessage, Role } from './bus/messages.ts';
export type { PluginRoute as Route, RoutePart } from './plugins/plugin.ts';

// Words of others.
export { boundaryFor, fence } from './security/text/untrusted.ts';
export type { Fence } from './security/text/untrusted.ts';
export type { ToolFacts } from './tools/tool.ts';

// Small helpers.
export { AppError, errorMessage } from './util/errors.ts';
export { RecentMap } from './util/recent-map.ts';
export { cut, oneLine, plural, sentences } from './util/text.ts';
export type { Clock } from './util/clock.ts';
export type { Logger } from './util/log.ts';
export type { HomePaths } from './config/home.ts';
export type { Config } from './config/schema.ts';
export { assistantCommand } from './util/assistant-command.ts';
export { deadline, raceAbort, sleep } from './util/clock.ts';
export { systemRandom } from './util/random.ts';
export type { Random } from './util/random.ts';
export { Slots } from './util/slots.ts';
export { megabytes } from './util/text.ts';
export { FROM, SAY_BUTTON } from './bus/messages.ts';
export { asFlag } from './util/text.ts';
export { errorCode } from './util/errors.ts';
export { MARKDOWN } from './channels/shows.ts';
