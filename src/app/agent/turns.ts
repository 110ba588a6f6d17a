import { busyModeOf } from '../../agent/message-batching.ts';
import type { CallBounds } from '../../agent/context/call-bounds.ts';
import type { HookRunner } from '../../agent/hooks/hooks.ts';
import type {
  LimitPorts,
  ModelPorts,
  PeoplePorts,
  SpeechPorts,
  StorePorts,
  ToolPorts,
  TurnPorts,
} from '../../agent/ports.ts';
import type { TurnSkills } from '../../agent/prompt/active-skills.ts';
import type { Questions } from '../../agent/questions/questions.ts';
import type { MessageBus } from '../../bus/bus.ts';
import type { EditorFiles } from '../../tools/files/editor-files.ts';
import type { ToolRegistry } from '../../tools/registry/registry.ts';
import { Slots } from '../../util/slots.ts';
import { createAttachments } from './attachments.ts';
import { roleNow, type Automation } from '../automation/automation.ts';
import type { Base } from '../base.ts';
import type { Channels } from '../channels.ts';
import type { HeartbeatService } from '../automation/heartbeat.ts';
import type { Mcp } from '../tools/mcp.ts';
import type { Models } from './models.ts';
import type { Prompts } from './prompt.ts';
import type { Stores } from '../storage/stores.ts';

export interface TurnParts {
  readonly stores: Stores;
  readonly bus: MessageBus;
  readonly channels: Channels;
  readonly models: Models;
  readonly hooks: HookRunner;
  readonly consolidation: StorePorts['consolidation'];
  readonly prompts: Prompts;
  readonly mcp: Mcp;
  readonly registry: ToolRegistry;
  readonly skills: TurnSkills;
  readonly bounds: CallBounds;
  readonly questions: Questions;
  readonly editorFiles: EditorFiles;
  readonly speech: SpeechPorts;
  readonly automation: Pick<Automation, 'holdBack'>;
  readonly heartbeat: Pick<HeartbeatService, 'holdBack'>;
}

/** What turns reach, in the groups in which they take it. */
export function createTurnPorts(base: Base, parts: TurnParts): TurnPorts {
  const { clock, log, newId, redact, storage } = base;
  const { stores, bus, consolidation, hooks } = parts;
  const { journal, sessions } = stores;
  return {
    runtime: { clock, log, newId, redact, storage },
    store: { journal, sessions, bus, consolidation },
    model: modelPorts(base, parts),
    tools: toolPorts(base, parts),
    limits: limitPorts(base, parts),
    people: peoplePorts(base, parts),
    hooks,
  };
}

function modelPorts({ config }: Base, { models, prompts, mcp, stores, bounds }: TurnParts): ModelPorts {
  return {
    resolve: models.resolve,
    systemPrompt: (target, role, size) => prompts.of(target, role, size),
    toolsFor: (target, role) => {
      mcp.connectNew();
      return prompts.tools(target, role);
    },
    bounds,
    promptParts: stores.promptParts,
    get temperature() {
      return config.agent.temperature;
    },
    get reasoning() {
      return config.agent.reasoning;
    },
    timezone: config.agent.timezone,
  };
}

function toolPorts(base: Base, { stores, channels, bus, registry, skills, editorFiles }: TurnParts): ToolPorts {
  const { media, spill } = stores;
  const attachments = createAttachments(base, { media, outlets: channels.manager, bus });
  return {
    registry,
    skills,
    workspace: base.paths.workspace,
    media,
    attachments: (message, signal) => attachments.fetch(message, signal),
    spill,
    editorFolder: (sessionKey) => stores.editors.folderOf(sessionKey),
    editorFiles,
  };
}

function limitPorts({ config }: Base, { stores }: TurnParts): LimitPorts {
  const { settings } = stores.journal;
  return {
    slots: new Slots(config.agent.maxConcurrentTurns),
    get maxIterations() {
      return config.agent.maxIterations;
    },
    toolResultChars: config.agent.toolResultChars,
    get turnTimeoutMs() {
      return config.agent.turnTimeoutMinutes * 60_000;
    },
    bursts: {
      whenBusy: (sessionKey) => busyModeOf(settings.whenBusy(sessionKey)) ?? config.agent.whenBusy,
      get debounceMs() {
        return config.agent.debounceMs;
      },
      groupDebounceMs: (channel) => config.channels[channel]?.groups.debounceMs ?? 0,
    },
  };
}

function peoplePorts(
  base: Base,
  { stores, channels, questions, speech, automation, heartbeat }: TurnParts,
): PeoplePorts {
  const { manager, previews } = channels;
  return {
    questions,
    speech,
    render: (message) => manager.renderParts(message) ?? [],
    holdBack: (facts, end, hasSent) =>
      (facts.messages.at(-1)?.origin === 'heartbeat' ? heartbeat : automation).holdBack(facts, end, hasSent),
    settled: (turnId, ended) => previews.settle(turnId, ended),
    roleNow: ({ channel, sender, chatType, chatId: chat, role }) =>
      roleNow(base, stores, { channel, id: sender.id, chatType, chat }, role),
  };
}
