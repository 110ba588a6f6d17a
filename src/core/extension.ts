import type { Finding } from './util/finding.ts';
import type { Hooks, TurnFacts } from './agent/hooks/hooks.ts';
import type { PromptLayerSource } from './agent/prompt/system-prompt.ts';
import type { Speak } from './channels/speech.ts';
import type { Config, Section } from './config/schema.ts';
import type { CliContext } from './cli/context.ts';
import type { HomePaths } from './config/home.ts';
import type { SettingPath } from './config/setting.ts';
import type { AssistantPort } from './gateway/assistant-port.ts';
import type { CliCommand, Group } from './cli/command.ts';
import type { Check } from './doctor/check.ts';
import type { Operation } from './gateway/operations/operation.ts';
import type { Tables } from './journal/tables.ts';
import type { PluginChannel, PluginCommand, PluginProvider, PluginRoute } from './plugins/plugin.ts';
import type { EntryOf } from './session/entry.ts';
import type { TapeStore } from './session/stored-tapes.ts';
import type { OwnPaths } from './security/paths/rules.ts';
import type { RecordedJob } from './storage/change-log.ts';
import type { UndoItem } from './storage/undo-log.ts';
import type { WhyStory } from './agent/why/facts.ts';
import type { OwnStep } from './gateway/operations/activity.ts';
import type { Services } from './providers/presets.ts';
import type { Transcribe, Vendor } from './providers/vendor.ts';
import type { EditorServers } from './bus/editor.ts';
import type { InboundMessage } from './bus/messages.ts';
import type { Origin } from './bus/origins.ts';
import type { Tool } from './tools/tool.ts';
import type { ChatCommand } from './agent/commands/command.ts';
import type { App } from './app.ts';

type Troubles = readonly (Finding | string)[];

/** What an extension adds to a running assistant. */
export interface Contributions {
  readonly tools?: readonly Tool[];
  /** Chat commands. */
  readonly commands?: readonly (PluginCommand | ChatCommand)[];
  /** What it serves over HTTP: a package below `/plugins/<name>`, an extension of the program where it says. */
  readonly routes?: readonly PluginRoute[];
  readonly hooks?: Hooks;
  /** Its hooks are a guard: where one fails or hangs, what it should have decided about is refused. @default false */
  readonly guard?: boolean;
  /** A folder with skills. */
  readonly skills?: string;
  /** Layers of the system prompt, behind those of the core. */
  readonly prompt?: readonly PromptLayerSource[];
  /** How turns that it starts itself are treated, by the `origin` of its messages. */
  readonly turns?: Readonly<Record<string, OwnTurns>>;
  /** Sessions of a kind that end by themselves, by the word before the colon of their keys: their tapes are removed after 90 days. */
  readonly sessions?: Readonly<Record<string, { readonly isOver: (key: string) => boolean }>>;
  /** Keeps the tapes of all sessions too; counts from the next start on. */
  readonly tapeStore?: TapeStore;
  /** What the person should know now; a sentence is a warning. Asked at each look at the health. */
  readonly troubles?: () => Troubles | Promise<Troubles>;
  /** Lines of `/status`, by what they are about: of a session, or of everything for the owner (null). One without the parameter is asked for the owner alone. */
  readonly status?: (session: string | null) => Readonly<Record<string, string>>;
  /** Sentences for `/retry`: what of its work failed for the writer of the message, and the command that runs it again. */
  readonly retries?: (message: InboundMessage) => readonly string[];
  /**
   * The first start of a restored home: what may have run between the backup and `until` (ms since 1970), for the owner; '':
   * nothing. `end` ends it, and may be called again after a crash.
   */
  readonly restored?: (until: number) => Promise<{ readonly says: string; readonly end: () => Promise<void> }>;
  /** Called after a reload with the paths of all changed settings that are marked `rebuild`. */
  readonly rebuild?: (changed: readonly SettingPath[]) => Promise<void>;
  /** Runs the MCP servers that code editors bring. */
  readonly editorServers?: EditorServers;
  /** Removes what it keeps of a session that a person deletes or begins anew. */
  readonly forget?: (sessionKey: string) => Promise<void>;
  /** Takes back what its tools recorded with `app.changes`. */
  readonly undo?: UndoPart;
  readonly why?: WhyPart;
  /** The person's time zone where it knows that better than the machine. */
  readonly zone?: () => string | undefined;
  /** What runs beside the turns. It begins when channels are connected and no turn of before is left to resume. */
  readonly start?: () => void | Promise<void>;
  /** Ends it: before the turns end and channels close. Nothing it does after may begin a turn. */
  readonly stop?: () => void | Promise<void>;
  /** Closes what it has open: when no turn and no delivery runs any more. */
  readonly close?: () => void | Promise<void>;
}

/** How turns are treated that begin with messages of an origin that is the extension's. */
export interface OwnTurns {
  /** Whether the answer of such a turn is not sent. */
  readonly holdBack: (facts: TurnFacts, end: EntryOf<'turn-end'>, hasSent: boolean) => Promise<boolean>;
  /** The same of a turn that an earlier process left and that is given up. */
  readonly wasHeldBack: (turnId: string, messageId: string) => boolean;
}

/** Commands for a word of the terminal; its description where no one else has one of that name. */
export interface GroupPart extends Omit<Group, 'description'> {
  readonly description?: string;
}

/** What a configuration makes of sound. Lines for people have no full stop; they are also sentences about what cannot work. */
export interface SpeechState {
  /** What becomes of voice messages, and where recordings go; null: they are not turned into text. */
  readonly voice: string | null;
  /** Who speaks answers, and where their text goes; null: no one. */
  readonly speech: string | null;
  /** Null: voice messages cannot be turned into text. `isAutomatic`: no setting asked for it. */
  readonly hears: { readonly isAutomatic: boolean } | null;
  /** Null: no answer can be spoken. `toVoice`: answers to voice messages are, without being asked to. */
  readonly speaks: { readonly toVoice: boolean } | null;
}

/** Hears and speaks. */
export interface SpeechPart {
  readonly state: (loaded: Pick<App, 'config' | 'program'>) => SpeechState;
  /** Turns a file into text; null: it cannot with these settings. */
  readonly transcriber: (app: App) => Transcribe | null;
  /** Null: it cannot with these settings. */
  readonly speak: (app: App, ...order: Parameters<Speak>) => Promise<Awaited<ReturnType<Speak>> | null>;
}

/** Takes changes back that its tools recorded with `app.changes.recordJob`. */
export interface UndoPart {
  /** `dry` only says what it would do. */
  readonly restore: (changes: readonly RecordedJob[], dry: boolean) => Promise<readonly RestoredThing[]>;
}

/** What became of one thing that was to be taken back. */
export interface RestoredThing {
  readonly job: string;
  readonly outcome: UndoItem['outcome'];
  readonly reason: string;
}

/** Why something that the assistant did by itself happened or did not, for `/why` and `assistant why`. */
export interface WhyPart {
  /** What is known under an id; undefined: it is not of this extension. */
  readonly find: (about: string, count: number) => Promise<FoundWhy | undefined>;
  /** The newest steps of all. */
  readonly newest: (count: number) => Promise<readonly OwnStep[]>;
}

interface FoundWhy {
  /** The turn whose failure is a part of the story; null: none is. */
  readonly turn: string | null;
  readonly story: (turnCause: string | null) => WhyStory;
  readonly steps: readonly OwnStep[];
}

/**
 * A part of the program that could be absent: a channel, a tool, a door, a feature. What needs no running assistant is
 * a field, so that the command line, the configuration, the doctor and the documentation read it without starting one; what
 * needs one is what `open` returns. A field loads nothing heavy: what it does comes from `await import(…)` when it is done.
 */
export interface Extension extends Contributions {
  /** Of a package: its name. `extensions.<name>: false` in the configuration switches it off. */
  readonly name: string;
  /** It comes with the program: its routes lie where they say. Set by the list of extensions. */
  readonly isBuiltIn?: true;
  /** Whether it is to be there with this configuration, beside `extensions.<name>`. @default always */
  readonly isOn?: (config: Config) => boolean;
  /** Names of bundled skills that are left out where it is not on. */
  readonly bundledSkills?: readonly string[];
  /** Its parts of the configuration. */
  readonly settings?: readonly Section[];
  /** It hears voice messages and speaks answers. One that is on is asked. */
  readonly speech?: SpeechPart;
  /** Its tables in the journal, with how long their rows are kept. */
  readonly tables?: Tables;
  readonly channels?: readonly PluginChannel[];
  readonly providers?: readonly PluginProvider[];
  /** Vendors of models. */
  readonly vendors?: readonly Vendor[];
  /** Services that speak the wire of another extension's vendor; without that vendor they are not offered. */
  readonly services?: readonly Services[];
  /** How its own messages are treated. Those that are left on the disk are, too, while it is switched off. */
  readonly origins?: readonly Origin[];
  readonly paths?: Partial<OwnPaths>;
  /** What may be asked of it through the control socket, HTTP, the command line and the library. */
  readonly operations?: readonly Operation[];
  /** Its commands of the terminal, or further ones of a group that is there. */
  readonly cli?: readonly (CliCommand | GroupPart)[];
  /** A conversation in the terminal of `assistant gateway`. Resolves when it has ended. @default there is none */
  readonly conversation?: (context: CliContext, conversation: Conversation) => Promise<void>;
  /** What `assistant doctor` looks at. */
  readonly checks?: () => Promise<readonly Check[]>;
  /**
   * Called once in each start, when every service of `App` is there and before a message is taken or a turn resumed. Where it
   * throws, the assistant runs without the extension and says why.
   */
  readonly open?: (app: App) => Contributions | Promise<Contributions>;
}

/** The conversation with the person at the terminal of a gateway. */
export interface Conversation {
  readonly assistant: AssistantPort;
  readonly paths: HomePaths;
  /** The values of its configuration that are never written down. */
  readonly secrets: readonly string[];
  /** Chat platforms on which the assistant answers meanwhile. */
  readonly platforms: readonly string[];
  /** Aborts when it must end. */
  readonly signal: AbortSignal;
  /** Emits `interrupt` for a Ctrl-C that came as a signal. */
  readonly interrupts: EventTarget;
  /** Only lines are printed. */
  readonly plain: boolean;
  /** Called at /setup, which ends it. */
  readonly onSetup: () => void;
}

/** Gives an extension its type; what the module of a package exports by default is what this returns. */
export function defineExtension(extension: Extension): Extension {
  return extension;
}
